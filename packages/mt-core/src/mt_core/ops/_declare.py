"""The vocabulary of operator declarations: ``Family`` with one method per recurring shape."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ..dispatch.registry import DECLARATIONS, define
from ..promotion import ARITHMETIC, BOOL, FLOAT, Promotion
from ..schema import Schema, parse_schema

__all__ = ["Declaration", "Family"]


_EXACT_OUT = "Expected out tensor to have dtype {cpp_expected}, but got {cpp_out} instead"


class Declaration:
    """The facts of one overload.

    Attributes
    ----------
    kind : {"elementwise", "view", "plain", "factory", "composite"}
        Which executor carries it out (ARCHITECTURE.md).
    variants : frozenset of {"function", "method"}
        Where Python sees it.
    namespace : str
        Python module of the function form: ``torch``, ``torch.linalg``, ``torch._C._nn`` (functions of
        ``torch.nn.functional`` only) ...; `python_name` its name there.
    functional : str or None
        For an in-place or out= form, the overload it derives from; `form` tells which it is.
    numbers : frozenset of str
        Tensor arguments for which Python accepts a number.
    number_signatures : dict
        Where PyTorch lists them in signatures of their own: arguments that are numbers ("self other") -> whether that
        form takes ``out=``. Without them, one signature takes either silently.
    promotes : frozenset of str
        Elementwise only: the arguments whose dtypes promote together, tensors or Scalars (all tensors, unless
        declared); others pass as they are.
    check
        Elementwise only: called with (arguments, common dtype) off the fast path, raises for what PyTorch refuses. Its
        attribute ``unchecked``, where it has one, holds the dtypes for which it refuses nothing (else: real floating
        ones), as long as all parameters have their defaults, or its attribute ``also`` is None.
    alias_of : str or None
        The overload that this one is a second name of.
    exact_out : str
        Where ``out`` must have the result's dtype: what is said if not, with ``{out}`` and ``{expected}`` for the dtypes
        (``{cpp_out}`` and ``{cpp_expected}`` for their C++ names). Else it is what the result can be cast to.
    """

    __slots__ = (
        "schema", "family", "kind", "promotion", "variants", "namespace", "python_name", "functional", "form", "numbers",
        "check", "promotes", "doc", "tags", "inplace", "out", "alias_of",
        "exact_out",
        "number_signatures",
    )  # fmt: skip

    def __init__(self, schema: Schema, family: str, kind: str, **facts: Any) -> None:
        self.schema = schema
        self.family = family
        self.kind = kind
        self.promotion: Promotion | None = facts.get("promotion")
        self.variants: frozenset[str] = facts.get("variants", frozenset())
        self.namespace: str = facts.get("namespace", "torch")
        self.python_name: str = facts.get("python_name") or schema.name
        self.functional: str | None = facts.get("functional")
        self.form: str = facts.get("form", "functional")
        self.numbers: frozenset[str] = facts.get("numbers", frozenset())
        self.number_signatures: dict[str, bool] = facts.get("number_signatures") or {}
        self.check: Callable[..., None] | None = facts.get("check")
        self.promotes: frozenset[str] = facts.get("promotes") or frozenset(
            a.name for a in schema.arguments if a.is_tensor
        )
        self.doc: str = facts.get("doc", "")
        self.tags: frozenset[str] = facts.get("tags", frozenset())
        self.alias_of: str | None = facts.get("alias_of")
        self.exact_out: str = facts.get("exact_out") or (_EXACT_OUT if "exact_out" in self.tags else "")
        self.inplace: str | None = None
        self.out: str | None = None

    @property
    def name(self) -> str:
        return self.schema.full_name


def _words(text: str | Iterable[str]) -> frozenset[str]:
    return frozenset(text.split() if isinstance(text, str) else text)


class Family:
    """Declares the operators of one family; every method takes a schema in PyTorch's own words.

    Options common to all methods
    -----------------------------
    variants : str
        ``"function method"`` (default), ``"function"``, ``"method"`` or ``""``.
    inplace : bool or str
        Also declare ``name_``: same arguments, writes and returns ``self``. A string is its overload name where PyTorch
        has another than the functional form's.
    inplace_variants : str
        Where Python sees the in-place form: where `variants` says, but of a method and a function only the method.
    inplace_check
        What the in-place form checks, where that is more than `check`.
    out : bool or str or tuple of str
        Also declare the ``out=`` form. True: one tensor ``out``, overload name ``out`` (or ``<overload>_out``); a
        string is the overload name; a tuple names the several tensors of a tuple result; a tuple of both: overload
        name, then tensors.
    namespace, python_name : str
        Where the function form stands in Python, and as what; default ``torch`` and the packet's name.
    numbers : str
        Tensor arguments for which Python also takes a number.
    number_signatures : dict
        See `Declaration`.
    doc : str
        What it computes, shapes, dtypes, errors; a formula's source.
    tags : str
        Words other parts ask for, such as ``nondeterministic_seeded``.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def elementwise(self, schema: str, *, promotion: Promotion = ARITHMETIC, **options: Any) -> None:
        """Broadcasts its tensor arguments, promotes their dtypes, one output.

        The executor does all but the arithmetic.
        """
        self._declare(schema, "elementwise", promotion=promotion, **options)

    def unary(
        self, name: str, *, promotion: Promotion = FLOAT, inplace: bool = True, out: Any = True, **options: Any
    ) -> None:
        """``name(Tensor self) -> Tensor``, elementwise."""
        self.elementwise(f"{name}(Tensor self) -> Tensor", promotion=promotion, inplace=inplace, out=out, **options)

    def binary(self, name: str, *, promotion: Promotion = ARITHMETIC, inplace: bool = True, out: Any = True,
               scalar: bool = False, numbers: str = "", **options: Any) -> None:  # fmt: skip
        """``name(Tensor self, Tensor other) -> Tensor``, elementwise.

        `name` may carry an overload (``mul.Tensor``). With `scalar`, ``other`` may be a Python number.
        """
        numbers = "other" if scalar else numbers
        self.elementwise(f"{name}(Tensor self, Tensor other) -> Tensor", promotion=promotion, inplace=inplace, out=out,
                         numbers=numbers, **options)  # fmt: skip

    def comparison(self, name: str, **options: Any) -> None:
        """A binary operator with a boolean result, with ``Tensor`` and ``Scalar`` overloads behind one name."""
        self.binary(f"{name}.Tensor", promotion=BOOL, scalar=True, **options)

    def view(self, schema: str, **options: Any) -> None:
        """Shares its input's memory: the meta rule returns a `View` (or a tuple or list of them)."""
        self._declare(schema, "view", **options)

    def plain(self, schema: str, **options: Any) -> None:
        """A meta rule gives the result's spec, a kernel its elements."""
        self._declare(schema, "plain", **options)

    def reduction(
        self, name: str, *, dtype: bool = False, dim: str = "int[1]? dim=None", overload: str = "", **options: Any
    ) -> None:
        """``name(Tensor self, <dim>, bool keepdim=False[, *, ScalarType? dtype=None]) -> Tensor``: dimensions combined to one value.

        Without `keepdim` the reduced dimensions disappear; no dimension (None or ``()``) means all of them.
        """
        tail = ", *, ScalarType? dtype=None" if dtype else ""
        options.setdefault("out", True)
        self.plain(f"{name}{_dotted(overload)}(Tensor self, {dim}, bool keepdim=False{tail}) -> Tensor", **options)

    def factory(self, schema: str, **options: Any) -> None:
        """Makes a tensor on ``device=``; the schema has the arguments ``dtype, layout, device, pin_memory``."""
        options.setdefault("variants", "function")
        self._declare(schema, "factory", **options)

    def composite(self, schema: str, **options: Any) -> None:
        """Written in other operators, in `mt_core.decomp`."""
        self._declare(schema, "composite", **options)

    def alias(self, name: str, of: str, **options: Any) -> None:
        """A second name of an operator (``absolute`` of ``abs``) and of its in-place and ``out=`` forms.

        `mt_core.decomp` forwards it.
        """
        target = DECLARATIONS[of]
        facts = {
            "variants": target.variants, "numbers": target.numbers, "number_signatures": target.number_signatures, "inplace": target.inplace is not None,
            "out": _overload_of(target.out), "doc": f"Second name of `{target.schema.name}`.", **options,
        }  # fmt: skip
        text = name + target.schema.text[target.schema.text.index("(") :]
        self._declare(text, "composite", alias_of=of, **facts)
        derived = DECLARATIONS[name].inplace, DECLARATIONS[name].out
        for own, other in zip(derived, (target.inplace, target.out), strict=True):
            if own is not None:
                DECLARATIONS[own].alias_of = other

    def _declare(
        self, text: str, kind: str, *, variants: str | Iterable[str] = "function method", inplace: bool | str = False,
        inplace_variants: str | None = None, inplace_check: Callable[..., None] | None = None, out: Any = False, numbers: str | Iterable[str] = "", promotes: str = "",
        tags: str = "", **facts: Any,
    ) -> None:  # fmt: skip
        schema = parse_schema(text)
        facts.update(variants=_words(variants), numbers=_words(numbers), promotes=_words(promotes), tags=_words(tags))
        declaration = Declaration(schema, self.name, kind, **facts)
        define(declaration)
        if inplace is not False:
            if inplace_variants is None:
                inplace_variants = "method" if "method" in facts["variants"] else variants  # type: ignore[assignment]
            derived = Declaration(_inplace_schema(schema, inplace), self.name, kind, **{
                **facts, "functional": schema.full_name, "form": "inplace", "variants": _words(inplace_variants),
                "python_name": facts.get("python_name") and facts["python_name"] + "_", "check": inplace_check or facts.get("check"),
            })  # fmt: skip
            declaration.inplace = derived.name
            define(derived)
        if out:
            derived = Declaration(_out_schema(schema, out), self.name, kind, **{
                **facts, "functional": schema.full_name, "form": "out", "variants": frozenset()})  # fmt: skip
            declaration.out = derived.name
            define(derived)


def _dotted(overload: str) -> str:
    return f".{overload}" if overload else ""


def _overload_of(name: str | None) -> str | bool:
    return name.partition(".")[2] if name is not None else False


def _inplace_schema(schema: Schema, inplace: bool | str) -> Schema:
    overload = inplace if isinstance(inplace, str) else schema.overload
    body = schema.text.partition("(")[2].rpartition("->")[0].rstrip()
    body = body.replace("Tensor(a) self", "Tensor self", 1).replace("Tensor self", "Tensor(a!) self", 1)
    return parse_schema(f"{schema.name}_{_dotted(overload)}({body} -> Tensor(a!)")


def _out_schema(schema: Schema, out: Any) -> Schema:
    overload, names = _out_names(schema, out)
    body = schema.text.partition("(")[2].rpartition("->")[0].rstrip()[:-1]
    star = "" if any(a.kwarg_only for a in schema.arguments) else ", *"
    letters = [chr(ord("a") + i) for i in range(len(names))]
    writes = ", ".join(f"Tensor({letter}!) {name}" for letter, name in zip(letters, names, strict=True))
    returns = ", ".join(
        f"Tensor({letter}!)" + (f" {r.name}" if r.name else "")
        for letter, r in zip(letters, schema.returns, strict=True)
    )
    returns = f"({returns})" if len(names) > 1 else returns
    return parse_schema(f"{schema.name}.{overload}({body}{star}, {writes}) -> {returns}")


def _out_names(schema: Schema, out: Any) -> tuple[str, tuple[str, ...]]:
    """Overload name of the out= form, and the names of what it writes."""
    if isinstance(out, tuple) and isinstance(out[-1], tuple):
        return out[0], out[1]
    names = out if isinstance(out, tuple) else ("out",)
    return out if isinstance(out, str) else _out_overload(schema, names), names


def _out_overload(schema: Schema, names: tuple[str, ...]) -> str:
    if schema.overload in ("", "Tensor"):
        return "out"
    # PyTorch names the out= form of `max.dim`, which fills two tensors, after the first of them.
    return f"{schema.overload}_{names[0]}" if len(names) > 1 and names[0] == schema.name else f"{schema.overload}_out"
