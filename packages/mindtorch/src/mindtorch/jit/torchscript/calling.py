"""Methods as Python calls them: arguments are checked and cast, errors say where in the archive they come from."""

from __future__ import annotations

from typing import Any, NoReturn

from mt_core.overriding import handed_over, must_ask

from .classes import Function
from .errors import explained
from .limits import loop_limit, steps
from .sources import plain_name
from .text import text_of
from .types import NEVER, CannotCast, cast

__all__ = ["ScriptMethod"]


class ScriptMethod:
    """A method of a module or object.

    Attributes
    ----------
    name
        Its name.
    schema
        What it takes and gives, as text.
    code
        Its code.
    """

    def __init__(self, function: Function, owner: Any) -> None:
        self._function = function
        self._owner = owner
        self.name = function.name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run it.

        Raises
        ------
        RuntimeError
            For arguments that it does not take, and errors in its code.
        torch.jit.Error
            For what the code raises itself.
        """
        if must_ask([*args, *kwargs.values()]):
            return handed_over(self, args, kwargs or None)
        function = self._function
        given = self._cast(args, kwargs)
        outermost = steps.depth == 0
        if outermost:
            steps.left = loop_limit()
        steps.depth += 1
        try:
            steps.left -= function.prepare().cost
            if steps.left < 0:
                raise RuntimeError(f"a call of '{self.name}' takes more than {loop_limit()} steps, which is the limit "
                                   "(torch.jit.set_loop_limit sets another)")  # fmt: skip
            return function.run(self._owner, *given)
        except Exception as error:
            raise explained(error, function.unit.sources.lines) from error
        finally:
            steps.depth -= 1

    def _cast(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """All arguments in order, as the parameters' types have them."""
        function, parameters = self._function, self._function.parameters
        if len(args) > len(parameters):
            raise RuntimeError(
                f"{self.name}() expected at most {len(parameters) + 1} argument(s) but received "
                f"{len(args) + len(kwargs) + 1} argument(s). Declaration: {self.schema}"
            )
        unknown = next((k for k in kwargs if all(p.name != k for p in parameters[len(args) :])), None)
        if unknown is not None:
            raise RuntimeError(
                f"Unknown keyword argument '{unknown}' for operator '{self.name}'. Schema: {self.schema}"
            )
        given = []
        for place, parameter in enumerate(parameters):
            if place < len(args):
                given.append(self._cast_one(place, parameter, args[place]))
            elif parameter.name in kwargs:
                given.append(self._cast_one(place, parameter, kwargs[parameter.name]))
            elif parameter.default is not None:
                given.append(function.default(parameter))
            else:
                raise RuntimeError(
                    f"{self.name}() is missing value for argument '{parameter.name}'. Declaration: {self.schema}"
                )
        return given

    def _cast_one(self, place: int, parameter: Any, value: Any) -> Any:
        try:
            return cast(value, parameter.type)
        except CannotCast as error:
            raise RuntimeError(
                f"{self.name}() Expected a value of type '{parameter.type}' for argument '{parameter.name}' but "
                f"instead found type '{type(value).__name__}'.\nPosition: {place + 1}\nValue: {value}\n"
                f"Declaration: {self.schema}\nCast error details: {error}"
            ) from None

    @property
    def schema(self) -> str:
        """What it takes and gives."""
        function = self._function
        parameters = [f"{function.cls.name} self"] if function.cls is not None else []
        for parameter in function.parameters:
            default = "" if parameter.default is None else f"={_default_text(function.default(parameter))}"
            parameters.append(f"{parameter.type.in_schema()} {parameter.name}{default}")
        returns = "Tensor" if function.returns is NEVER else function.returns.in_schema()
        if function.returns.name == "Tuple":
            returns = f"({returns})"
        return f"{self.name}({', '.join(parameters)}) -> {returns}"

    @property
    def code(self) -> str:
        """Its code in the archive, from the margin; its instance has no type there."""
        return code_of(self._function)

    @property
    def graph(self) -> NoReturn:
        """Raises NotImplementedError: code is run as it is, and has no graph."""
        raise NotImplementedError(
            "torch.jit.ScriptMethod.graph is not supported by mindtorch. The code of an archive is run as it is, and "
            "has no graph: read .code."
        )

    @property
    def owner(self) -> Any:
        """The instance."""
        return self._owner

    def __repr__(self) -> str:
        return f"<torch.ScriptMethod {self.name}>"


def _default_text(value: Any) -> str:
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("'", "\\'").replace("\n", "\\n")
        return f'"{escaped}"'
    return text_of(value)


def code_of(function: Function) -> str:
    """The lines of a function, moved to the margin."""
    lines = function.unit.sources.lines[function.record]
    node = function.node
    margin = node.col_offset
    # Parameters stand as far from the margin in classes as they do in functions.
    head = [lines[node.lineno - 1][margin:], *lines[node.lineno : node.body[0].lineno - 1]]
    own = head + [line[margin:] for line in lines[node.body[0].lineno - 1 : node.end_lineno]]
    text = "\n".join(map(plain_name, own)) + "\n"
    if function.cls is not None:
        text = text.replace(f"({function.self_name}: {function.cls.name}", f"({function.self_name}", 1)
    return text
