"""The vocabulary of operator declarations: ``Family`` with one method per recurring shape."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypedDict

from ..dispatch.registry import DECLARATIONS, define
from ..dtypes import dtype
from ..promotion import ARITHMETIC, FLOAT, Promotion
from ..schema import Schema, parse_schema
from ._checks import OutDtypes, OutOf, Supported

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["EXPECTED_OUT", "Declaration", "Family", "Options"]

_VARIANTS = frozenset({"function", "method"})
_FORMS = frozenset({"functional", "inplace", "out"})
#: What is said of an ``out`` of another dtype than the result's by operators that PyTorch generates the checks of.
EXPECTED_OUT = "Expected out tensor to have dtype {cpp_expected}, but got {cpp_out} instead"


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
    wraps : frozenset of str
        Tensor arguments for which Python accepts a number, that the operator itself never sees: it is made a tensor
        without dimensions, in the widest dtype of its kind.
    old_orders : tuple of str
        Orders in which Python once took the arguments ("self alpha other"), and takes them with a warning still.
    promotes : frozenset of str
        Elementwise only: the arguments whose dtypes promote together, tensors or Scalars (all tensors, unless
        declared); others pass as they are.
    wide : frozenset of str
        Elementwise only: operands that half types do not round where they are a single element of another dtype, or a
        number.
    check
        Elementwise only: called with (arguments, common dtype) off the fast path, raises for what PyTorch refuses. Its
        attribute ``unchecked``, where it has one, holds the dtypes for which it refuses nothing (else: real floating
        ones), as long as all parameters have their defaults, or its attribute ``also`` is None.
    dtypes : Supported or None
        All other kinds: the dtypes that the operator is written for, and what is said of others. It is the first tensor
        argument that is asked, or all together where a promotion is declared, or a factory's result; a shape rule asks
        after its own errors, a composite before it begins.
    alias_of : str or None
        The overload that this one is a second name of.
    exact_out : str, or tuple with one for each result
        Where ``out`` must have the result's dtype: what is said if not (declared as True: `EXPECTED_OUT`), with ``{out}`` and ``{expected}`` for the dtypes
        (``{cpp_out}`` and ``{cpp_expected}`` for their C++ names), ``{name}`` for the argument's. Else it is what the result can be cast to.
    out_takes : frozenset of dtype
        The dtypes that such an ``out`` may have besides the result's.
    out_dtype : callable or None
        Where the ``out=`` form computes in the dtype of ``out``: (first argument, out) -> what its argument `dtype` is
        where it is not given.
    apart, not_in_part : frozenset of str
        The arguments whose memory may not be written to: of those in `not_in_part`, all of it may.
    on_expanded : str
        What is warned of where a form writes to a tensor in which several indices reach one element; without it, that
        is refused.
    out_check : OutDtypes, OutOf or None
        What ``out`` may be, where that is neither, or is said in other words; in-place forms say the same.
    laid_out : bool, "empty" or callable
        An ``out`` that gets another shape is laid out as the result; with "empty", only if it had no elements; a function
        of the first argument says where. Those
        of elementwise operators always are.
    resizes_first : bool, or function of the arguments
        Whether an ``out`` gets the result's shape before its dtype is refused. A function tells the shape, which
        ``out`` gets before the arguments are refused, or None for those that refuse first.
    shaped_as : str
        The argument whose shape ``out`` gets before shapes are refused; without it, the result's.
    any_shape_out : bool
        An ``out`` with as many elements as the result, of one dimension, keeps its shape.
    count_told : bool
        Of an ``out`` with another number of elements, but some, it is warned that it is resized.
    out_is_internal : bool
        The ``out=`` form is an operator that no Python function has: ``torch.ops`` alone reaches it.
    writes : int
        How often PyTorch writes to a result with elements while it makes it: the version that the new tensor has.
    apart_first : bool
        An ``out`` that shares memory with what it is kept apart from is refused before it gets the result's shape.
    """

    __slots__ = (
        "schema",
        "family",
        "kind",
        "promotion",
        "variants",
        "namespace",
        "python_name",
        "functional",
        "form",
        "numbers",
        "number_signatures",
        "wraps",
        "old_orders",
        "promotes",
        "wide",
        "check",
        "dtypes",
        "doc",
        "inplace",
        "out",
        "alias_of",
        "exact_out",
        "out_takes",
        "out_dtype",
        "apart",
        "not_in_part",
        "on_expanded",
        "out_check",
        "any_shape_out",
        "laid_out",
        "resizes_first",
        "count_told",
        "shaped_as",
        "out_is_internal",
        "apart_first",
        "writes",
    )

    def __init__(
        self,
        schema: Schema,
        family: str,
        kind: str,
        *,
        promotion: Promotion | None = None,
        variants: frozenset[str] = frozenset(),
        namespace: str = "torch",
        python_name: str | None = None,
        functional: str | None = None,
        form: str = "functional",
        numbers: frozenset[str] = frozenset(),
        number_signatures: dict[str, bool] | None = None,
        wraps: frozenset[str] = frozenset(),
        old_orders: tuple[str, ...] = (),
        promotes: frozenset[str] = frozenset(),
        wide: frozenset[str] = frozenset(),
        check: Callable[..., None] | None = None,
        dtypes: Supported | None = None,
        doc: str = "",
        alias_of: str | None = None,
        exact_out: bool | str | tuple[str, ...] = False,
        out_takes: frozenset[dtype] = frozenset(),
        out_dtype: Callable[[Any, Any], dtype | None] | None = None,
        apart: frozenset[str] = frozenset(),
        not_in_part: frozenset[str] = frozenset(),
        on_expanded: str = "",
        out_check: OutDtypes | OutOf | None = None,
        any_shape_out: bool = False,
        laid_out: bool | str | Callable[[Any], bool] = False,
        resizes_first: bool | Callable[..., tuple[int, ...] | None] = False,
        count_told: bool = False,
        shaped_as: str = "",
        out_is_internal: bool = False,
        apart_first: bool = False,
        writes: int = 0,
    ) -> None:
        self.schema = schema
        self.family = family
        self.kind = kind
        self.promotion = promotion
        self.variants = variants
        self.namespace = namespace
        self.python_name = python_name or schema.name
        self.functional = functional
        self.form = form
        self.numbers = numbers
        self.number_signatures = number_signatures or {}
        self.wraps = wraps
        self.old_orders = old_orders
        self.promotes = promotes or frozenset(a.name for a in schema.arguments if a.is_tensor)
        self.wide = wide
        self.check = check
        self.dtypes = dtypes
        self.doc = doc
        self.alias_of = alias_of
        self.exact_out = EXPECTED_OUT if exact_out is True else exact_out or ""
        self.out_takes = out_takes
        self.out_dtype = out_dtype
        self.apart = apart
        self.not_in_part = not_in_part
        self.on_expanded = on_expanded
        self.out_check = out_check
        self.any_shape_out = any_shape_out
        self.laid_out = laid_out
        self.resizes_first = resizes_first
        self.count_told = count_told
        self.shaped_as = shaped_as
        self.out_is_internal = out_is_internal
        self.apart_first = apart_first
        self.writes = writes
        self.inplace: str | None = None
        self.out: str | None = None
        if (check if kind != "elementwise" else dtypes) is not None:
            raise ValueError(f"{self.name}: elementwise operators have check=, all others dtypes=")
        self._refuse_unknown_words()

    def _refuse_unknown_words(self) -> None:
        """A fact about an argument that the schema has not, or a variant that does not exist, is a slip of the pen."""
        arguments = {argument.name for argument in self.schema.arguments}
        signatures = {name for names in self.number_signatures for name in names.split()}
        for fact, words, known in (
            ("variants", self.variants, _VARIANTS),
            ("form", {self.form}, _FORMS),
            ("numbers", self.numbers, arguments),
            ("wraps", self.wraps, arguments),
            ("promotes", self.promotes, arguments),
            ("wide", self.wide, self.promotes),
            ("apart", self.apart, arguments),
            ("not_in_part", self.not_in_part, arguments),
            ("number_signatures", signatures, arguments),
            ("old_orders", {name for names in self.old_orders for name in names.split()}, arguments),
        ):
            if not words <= known:
                raise ValueError(f"{self.name}: {fact} names {sorted(words - known)}, known are {sorted(known)}")

    @property
    def name(self) -> str:
        return self.schema.full_name

    @property
    def python_out(self) -> str | None:
        """The ``out=`` form that the Python function has."""
        return None if self.out_is_internal else self.out

    @property
    def take_numbers(self) -> frozenset[str]:
        """The tensor arguments in whose place a call may have a number."""
        return frozenset(self.numbers).union(*[names.split() for names in self.number_signatures])


#: See ``out`` of `Family`.
Out = bool | str | tuple[str, ...] | tuple[str, tuple[str, ...]]


def _words(text: str | Iterable[str]) -> frozenset[str]:
    return frozenset(text.split() if isinstance(text, str) else text)


class Facts(TypedDict, total=False):
    """What an operator and the forms derived from it have in common."""

    promotion: Promotion
    namespace: str
    python_name: str
    number_signatures: dict[str, bool]
    old_orders: tuple[str, ...]
    check: Callable[..., None] | None
    dtypes: Supported | None
    doc: str
    alias_of: str
    exact_out: bool | str | tuple[str, ...]
    out_takes: frozenset[dtype]
    out_dtype: Callable[[Any, Any], dtype | None]
    on_expanded: str
    out_check: OutDtypes | OutOf
    any_shape_out: bool
    laid_out: bool | str | Callable[[Any], bool]
    resizes_first: bool | Callable[..., tuple[int, ...] | None]
    count_told: bool
    shaped_as: str
    out_is_internal: bool
    apart_first: bool
    writes: int


class Options(Facts, total=False):
    """The options of `Family`'s methods."""

    variants: str | Iterable[str]
    inplace: bool | str
    inplace_variants: str
    inplace_check: Callable[..., None]
    out: Out
    numbers: str | Iterable[str]
    wraps: str
    promotes: str
    wide: str
    apart: str
    not_in_part: str


def _defaults(options: Options, **defaults: Unpack[Options]) -> Options:
    return {**defaults, **options}


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
    wraps : str
        Tensor arguments for which Python takes a number and hands on a tensor.
    old_orders : tuple of str
        See `Declaration`.
    doc : str
        What it computes, shapes, dtypes, errors; a formula's source.
    exact_out : bool or str
        The ``out=`` form takes the result's dtype only; a string is what it says of another (see `Declaration`).
    out_takes, out_dtype, on_expanded
        See `Declaration`.
    apart, not_in_part : str
        Arguments that may share no memory with what the in-place and ``out=`` forms write, or all of it only.
    out_check : OutDtypes
        Which other dtypes it takes, and what it says of the rest.
    any_shape_out, count_told, laid_out, resizes_first, shaped_as, out_is_internal, apart_first
        See `Declaration`.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def elementwise(self, schema: str, **options: Unpack[Options]) -> None:
        """Broadcasts its tensor arguments, promotes their dtypes (ARITHMETIC unless declared), one output.

        The executor does all but the arithmetic.
        """
        self._declare(schema, "elementwise", **_defaults(options, promotion=ARITHMETIC))

    def unary(self, name: str, **options: Unpack[Options]) -> None:
        """``name(Tensor self) -> Tensor``, elementwise, with in-place and ``out=`` forms; integers become floating."""
        options = _defaults(options, promotion=FLOAT, inplace=True, out=True)
        self.elementwise(f"{name}(Tensor self) -> Tensor", **options)

    def binary(self, name: str, *, scalar: bool = False, **options: Unpack[Options]) -> None:
        """``name(Tensor self, Tensor other) -> Tensor``, elementwise, with in-place and ``out=`` forms.

        `name` may carry an overload (``mul.Tensor``). With `scalar`, ``other`` may be a Python number.
        """
        options = _defaults(options, inplace=True, out=True, numbers="other" if scalar else "")
        self.elementwise(f"{name}(Tensor self, Tensor other) -> Tensor", **options)

    def view(self, schema: str, **options: Unpack[Options]) -> None:
        """Shares its input's memory: the shape rule returns a `View` (or a tuple or list of them)."""
        self._declare(schema, "view", **options)

    def plain(self, schema: str, **options: Unpack[Options]) -> None:
        """A shape rule gives the result's spec, a kernel its elements."""
        self._declare(schema, "plain", **options)

    def reduction(
        self,
        name: str,
        *,
        dtype: bool = False,
        dim: str = "int[1]? dim=None",
        overload: str = "",
        **options: Unpack[Options],
    ) -> None:
        """``name(Tensor self, <dim>, bool keepdim=False[, *, ScalarType? dtype=None]) -> Tensor``: dimensions combined to one value.

        Without `keepdim` the reduced dimensions disappear; no dimension (None or ``()``) means all of them.
        """
        tail = ", *, ScalarType? dtype=None" if dtype else ""
        schema = f"{name}{_dotted(overload)}(Tensor self, {dim}, bool keepdim=False{tail}) -> Tensor"
        self.plain(schema, **_defaults(options, out=True))

    def factory(self, schema: str, **options: Unpack[Options]) -> None:
        """Makes a tensor on ``device=``; the schema has the arguments ``dtype, layout, device, pin_memory``."""
        self._declare(schema, "factory", **_defaults(options, variants="function"))

    def composite(self, schema: str, **options: Unpack[Options]) -> None:
        """Written in other operators, in `mt_core.decomp`."""
        self._declare(schema, "composite", **options)

    def alias(self, name: str, of: str, **options: Unpack[Options]) -> None:
        """A second name of an operator (``absolute`` of ``abs``) and of its in-place and ``out=`` forms.

        `mt_core.decomp` forwards it.
        """
        target = DECLARATIONS[of]
        options = _defaults(
            options,
            variants=target.variants,
            numbers=target.numbers,
            number_signatures=target.number_signatures,
            inplace=target.inplace is not None,
            out=_overload_of(target.out),
            doc=f"Second name of `{target.schema.name}`.",
            alias_of=of,
        )
        text = name + target.schema.text[target.schema.text.index("(") :]
        self._declare(text, "composite", **options)
        derived = DECLARATIONS[name].inplace, DECLARATIONS[name].out
        for own, other in zip(derived, (target.inplace, target.out), strict=True):
            if own is not None:
                DECLARATIONS[own].alias_of = other

    def _declare(
        self,
        text: str,
        kind: str,
        *,
        variants: str | Iterable[str] = "function method",
        inplace: bool | str = False,
        inplace_variants: str | None = None,
        inplace_check: Callable[..., None] | None = None,
        out: Out = False,
        numbers: str | Iterable[str] = "",
        wraps: str = "",
        promotes: str = "",
        wide: str = "",
        apart: str = "",
        not_in_part: str = "",
        **facts: Unpack[Facts],
    ) -> None:
        schema, seen = parse_schema(text), _words(variants)
        own: Any = {
            "numbers": _words(numbers),
            "wraps": _words(wraps),
            "promotes": _words(promotes),
            "wide": _words(wide),
            "apart": _words(apart),
            "not_in_part": _words(not_in_part),
        }
        declaration = Declaration(schema, self.name, kind, variants=seen, **own, **facts)
        define(declaration)
        if inplace is not False:
            where = _words(inplace_variants) if inplace_variants is not None else seen & {"method"} or seen
            named = {"python_name": facts["python_name"] + "_"} if "python_name" in facts else {}
            checked = {"check": inplace_check} if inplace_check is not None else {}
            derived = _inplace_schema(schema, inplace)
            declaration.inplace = derived.full_name
            self._derive(declaration, derived, "inplace", where, own, {**facts, **named, **checked})
        if out:
            derived = _out_schema(schema, out)
            declaration.out = derived.full_name
            self._derive(declaration, derived, "out", frozenset(), own, facts)

    def _derive(
        self, functional: Declaration, schema: Schema, form: str, variants: frozenset[str], own: Any, facts: Any
    ) -> None:
        name, kind = functional.name, functional.kind
        define(Declaration(schema, self.name, kind, functional=name, form=form, variants=variants, **own, **facts))


def _dotted(overload: str) -> str:
    return f".{overload}" if overload else ""


def _overload_of(name: str | None) -> str | bool:
    return name.partition(".")[2] if name is not None else False


def _inplace_schema(schema: Schema, inplace: bool | str) -> Schema:
    overload = inplace if isinstance(inplace, str) else schema.overload
    body = schema.text.partition("(")[2].rpartition("->")[0].rstrip()
    body = body.replace("Tensor(a) self", "Tensor self", 1).replace("Tensor self", "Tensor(a!) self", 1)
    return parse_schema(f"{schema.name}_{_dotted(overload)}({body} -> Tensor(a!)")


def _out_schema(schema: Schema, out: Out) -> Schema:
    overload, names = _out_names(schema, out)
    body = schema.text.partition("(")[2].rpartition("->")[0].rstrip()[:-1]
    star = "" if any(a.kwarg_only for a in schema.arguments) else ", *"
    letters = [chr(ord("a") + i) for i in range(len(names))]
    if schema.returns[0].is_list:
        return parse_schema(f"{schema.name}.{overload}({body}{star}, Tensor(a!)[] {names[0]}) -> ()")
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
