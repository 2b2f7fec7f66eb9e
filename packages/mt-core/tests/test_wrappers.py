"""The generated wrappers: a short form hands over what the binder would, and everyday calls have one."""

from __future__ import annotations

import inspect
import keyword
import pickle
import pydoc
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import mt_core
from mt_core.api import _functions, _methods, binder
from mt_core.devices import device
from mt_core.dispatch.registry import PACKETS, Overload, Packet, find_overload
from mt_core.formats import contiguous_format, strided
from mt_core.keys import KEY_MASK, META, STRIDED
from mt_core.schema import MISSING, Argument
from mt_core.tensor import Tensor

Call = tuple[tuple[Any, ...], dict[str, Any]]


# What reaches the overload


class Recorder(dict[int, Any]):
    """A kernel table whose kernels return what they were called with."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def __missing__(self, call_keys: int) -> Callable[..., Any]:
        return lambda *args: Reached(self.name, call_keys & KEY_MASK & ~STRIDED, _plain(args))


class Reached:
    """Overload, key set and arguments of a call; a factory's result may be made to require grad."""

    #: As of a meta tensor, which ``pin_memory=True`` leaves alone.
    _keys = META
    _dtype = mt_core.float32

    def __init__(self, *facts: Any) -> None:
        self.facts = list(facts)

    def _set_requires_grad(self, value: bool = True) -> Reached:
        self.facts.append(f"requires_grad_({value})")
        return self

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reached) and self.facts == other.facts

    def __repr__(self) -> str:
        return repr(self.facts)


def _plain(value: Any) -> Any:
    """Tensors by identity; a list where the binder makes one and the short form passes the caller's tuple."""
    if isinstance(value, Tensor):
        return id(value)
    return tuple(map(_plain, value)) if isinstance(value, (list, tuple)) else (type(value), str(value))


@pytest.fixture
def recorded() -> Iterator[None]:
    """All overloads record; nothing is computed."""
    packets = dict(PACKETS)
    overloads = {o.name: o for p in packets.values() for o in p.overloads()}
    outs = [o.declaration.out for o in overloads.values() if o.declaration.out is not None]
    overloads.update({name: find_overload(name) for name in outs})
    by_cache = {id(o.cache): Recorder(o.name) for o in overloads.values()}
    saved: list[tuple[Any, str, Any]] = [(o, "cache", o.cache) for o in overloads.values()]
    saved += [(m, name, v) for m in (_functions, _methods) for name, v in vars(m).items() if name.endswith("_kernels")]
    for owner, name, cache in saved:
        setattr(owner, name, by_cache[id(cache)])
    yield
    for owner, name, cache in saved:
        setattr(owner, name, cache)


def outcome(call: Callable[..., Any], *args: Any) -> Any:
    """What a call reaches, or its refusal; in which order arguments by name were written is lost, and with it which
    of them stands before a bracket and not before a comma.
    """
    try:
        return call(*args)
    except (TypeError, RuntimeError, NotImplementedError) as refusal:
        return type(refusal), sorted(re.findall(r"[^\s,()]+", str(refusal)))


# Calls of an overload, with every argument it has

X, Y = mt_core.ones(2, 2), mt_core.zeros(2, 2)
VALUES: dict[str, Any] = {
    "Tensor": X, "int": 1, "float": 0.5, "Scalar": 2, "bool": True, "str": "word", "ScalarType": mt_core.float64,
    "Device": device("cpu"), "Layout": strided, "MemoryFormat": contiguous_format, "Generator": None,
}  # fmt: skip


def value_of(argument: Argument) -> Any:
    """A value that is not the argument's default."""
    if argument.type not in VALUES:
        return None
    value = VALUES[argument.type]
    return [value] * (argument.size or 2) if argument.is_list else value


def calls_of(overload: Overload, method: bool) -> Iterator[Call]:
    """Ways to call it: few arguments and all, by position and by name, each option alone, and wrong ones."""
    parameters = binder.Signature(overload, method).parameters
    given = {p.name: value_of(p.argument) for p in parameters}
    positional = [p.name for p in parameters if not p.kwarg_only]
    needed = [p.name for p in parameters if p.default is MISSING]
    front = tuple(given[n] for n in positional)
    least = tuple(given[n] for n in positional if n in needed)
    named = {p.name: given[p.name] for p in parameters if p.kwarg_only}
    must = {n: v for n, v in named.items() if n in needed}
    yield least, must
    yield front, must
    yield front, named
    yield (), given
    yield front[:1], {n: v for n, v in given.items() if n not in positional[:1]}
    for name in [n for n in given if n not in needed]:
        yield least, {**must, name: given[name]}
    yield (*front, X), must
    yield (*front, 1), named
    yield least, {**must, "no_such": 1}
    yield front, {**must, **dict.fromkeys(positional[-1:], X)}
    if not method:
        yield least, {**must, "out": Y}
        yield least, {**must, "out": None}
        yield least, {**must, "out": 3}
        yield least, {**must, "requires_grad": True}
    if binder.Signature(overload, method).varargs:
        yield (2, 3), must
        yield ((2, 3),), must


def public(name: str, method: bool) -> Any:
    identifier = name + "_" if hasattr(_functions, name + "_") and not hasattr(_functions, name) else name
    return getattr(Tensor if method else _functions, identifier, None)


def overloads_seen(packet: Packet, method: bool) -> list[Overload]:
    seen = [signature.overload for signature in binder.signatures_of(packet, method)]
    return seen if any(overload.declaration.variants for overload in seen) else []


@pytest.mark.parametrize("method", [False, True], ids=["functions", "methods"])
def test_wrappers_hand_over_what_the_binder_would(method: bool, recorded: None) -> None:
    agreed = 0
    for packet in list(PACKETS.values()):
        function = public(packet.name, method)
        if not overloads_seen(packet, method) or getattr(function, "__globals__", None) is not vars(
            _methods if method else _functions
        ):
            continue
        for args, kwargs in (c for o in dict.fromkeys(overloads_seen(packet, method)) for c in calls_of(o, method)):
            if method:
                wanted = outcome(binder.call_method, function, packet, X, args, dict(kwargs))
                got = outcome(lambda f=function, a=args, k=kwargs: f(X, *a, **k))
            else:
                wanted = outcome(binder.call_packet, function, packet, args, dict(kwargs))
                got = outcome(lambda f=function, a=args, k=kwargs: f(*a, **k))
            assert got == wanted, f"{packet.name}{_plain(args)} {_plain(list(kwargs.items()))}"
            agreed += isinstance(got, Reached)
    assert agreed > 1500


# Calls that must not need the binder

x, index, rows = mt_core.ones(4, 4), mt_core.tensor([0, 1]), mt_core.tensor([[0, 1], [1, 0], [0, 0], [1, 1]])
target = mt_core.zeros(4, 4)
EVERYDAY: dict[str, Callable[[], Any]] = {
    "zeros": lambda: mt_core.zeros(3, 4),
    "ones of a tuple": lambda: mt_core.ones((3, 4)),
    "empty of a Size": lambda: mt_core.empty(x.shape),
    "zeros with dtype": lambda: mt_core.zeros(3, dtype=mt_core.int64),
    "zeros on a device": lambda: mt_core.zeros(3, device="cpu", requires_grad=True),
    "zeros with every option": lambda: mt_core.zeros(
        3, dtype=None, layout=strided, device=device("cpu"), pin_memory=False
    ),
    "zeros_like": lambda: mt_core.zeros_like(x, dtype=mt_core.float64),
    "full": lambda: mt_core.full((3, 4), 2.0),
    "full_like": lambda: mt_core.full_like(x, 2.0),
    "new_zeros": lambda: x.new_zeros(3, 4),
    "new_full": lambda: x.new_full((3,), 2.0),
    "new_ones": lambda: x.new_ones((3,), dtype=mt_core.int64),
    "arange": lambda: mt_core.arange(10),
    "arange from to": lambda: mt_core.arange(1, 10),
    "arange by": lambda: mt_core.arange(0, 10, 2, dtype=mt_core.float32),
    "linspace": lambda: mt_core.linspace(0, 1, 10),
    "eye": lambda: mt_core.eye(4),
    "rand": lambda: mt_core.rand(3, 4),
    "randn": lambda: mt_core.randn(3, 4),
    "randn_like": lambda: mt_core.randn_like(x),
    "randint": lambda: mt_core.randint(0, 5, (4,)),
    "randperm": lambda: mt_core.randperm(10),
    "sum": lambda: x.sum(0),
    "sum by name": lambda: x.sum(dim=0, keepdim=True),
    "max": lambda: x.max(1),
    "topk": lambda: x.topk(2),
    "sort": lambda: x.sort(1, descending=True),
    "sort stably": lambda: x.sort(dim=1, stable=True),
    "var": lambda: x.var(1),
    "std with correction": lambda: x.std(dim=1, correction=0),
    "cumsum": lambda: x.cumsum(1),
    "clamp": lambda: x.clamp(0, 1),
    "clamp by name": lambda: x.clamp(min=0),
    "gather": lambda: x.gather(1, rows),
    "scatter_": lambda: target.scatter_(1, rows, 1.0),
    "index_add_": lambda: target.index_add_(0, index, x[:2]),
    "chunk": lambda: x.chunk(2),
    "split": lambda: mt_core.split_with_sizes(x, [1, 3]),
    "view": lambda: x.view(2, 8),
    "permute": lambda: x.permute(1, 0),
    "repeat": lambda: x.repeat(2, 1),
    "cat": lambda: mt_core.cat([x, x], dim=1),
    "stack": lambda: mt_core.stack((x, x), 1),
    "add_": lambda: target.add_(x, alpha=2),
    "addcmul_": lambda: target.addcmul_(x, x, value=0.1),
    "zero_": lambda: target.zero_(),
    "out": lambda: mt_core.add(x, x, out=target),
    "out of a reduction": lambda: mt_core.sum(x, 0, out=mt_core.empty(4)),
    "matmul into": lambda: mt_core.matmul(x, x, out=target),
    "softmax": lambda: mt_core.softmax(x, dim=-1),
    "where": lambda: mt_core.where(x > 0, x, 0.0),
}  # fmt: skip


@pytest.fixture
def without_binder(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(function: Any, packet: Packet, *args: Any) -> Any:
        raise AssertionError(f"{packet.name} has gone to the binder")

    for module in (binder, _functions, _methods):
        for name in ("call_packet", "call_method", "call_packet_as_given", "call_method_as_given"):
            monkeypatch.setattr(module, name, refuse)


@pytest.mark.parametrize("call", EVERYDAY)
def test_everyday_calls_do_without_the_binder(call: str, without_binder: None) -> None:
    EVERYDAY[call]()


def test_out_of_a_tensor_that_requires_grad_is_refused() -> None:
    with pytest.raises(RuntimeError, match="functions with out=... arguments don't support automatic differentiation"):
        mt_core.add(x, x, out=mt_core.zeros(4, 4, requires_grad=True))
    with mt_core.no_grad():
        assert mt_core.add(x, x, out=mt_core.zeros(4, 4, requires_grad=True)).sum() == 32


# The generated text

SOURCES = {module: Path(module.__file__ or "").read_text() for module in (_functions, _methods)}


def test_names_stand_on_lines_of_their_own() -> None:
    source = SOURCES[_functions]
    listed = source[source.index("__all__") : source.index("]", source.index("__all__"))]
    assert all(line.count("'") == 2 for line in listed.splitlines()[1:])
    pairs = source[source.index("NAMESPACES = {") :].splitlines()[1:]
    assert all(line.count("'") in (0, 2, 4) for line in pairs)


def test_every_table_is_mentioned() -> None:
    both = SOURCES[_functions] + SOURCES[_methods]
    words = re.findall(r"\w+", both)
    counts = dict.fromkeys(words, 0)
    for word in words:
        counts[word] += 1
    tables = re.findall(r"^(\w+_(?:packet|kernels)) = ", both, re.M)
    assert len(tables) == len(set(tables)) > 1000
    assert not [t for t in tables if counts[t] < 2 + (f"    {t}," in SOURCES[_methods])]


def test_no_condition_that_always_holds() -> None:
    assert not [
        line for source in SOURCES.values() for line in source.splitlines() if re.match(r" *if (True|1)\b", line)
    ]


@pytest.mark.parametrize("owner", [_functions, _methods.TensorBase], ids=["functions", "methods"])
def test_docstrings_say_how_to_call(owner: Any) -> None:
    names = _functions.__all__ if owner is _functions else [n for n in vars(owner) if not n.startswith("__")]
    for name in names:
        doc = getattr(owner, name).__doc__ or ""
        assert re.match(r"\w+\(.*\) -> .+", doc), name
    assert "alpha=1" in (mt_core.add.__doc__ or "") and "In place" in (Tensor.add_.__doc__ or "")


# What people and libraries read


def generated(method: bool) -> list[Any]:
    members = vars(_methods.TensorBase if method else _functions).values()
    signed = [f for f in members if "__signature__" in getattr(f, "__dict__", {})]
    return [(function.__signature__._packet, function) for function in signed]


@pytest.mark.parametrize("method", [False, True], ids=["functions", "methods"])
def test_signatures_are_those_of_the_forms(method: bool) -> None:
    """What a form takes by name, the signature takes too, and it shows nothing of the wrapper's own parameters."""
    assert len(generated(method)) > 400
    for packet, function in generated(method):
        signature = inspect.signature(function)
        assert "MISSING" not in str(signature) and not any(name.startswith("_") for name in signature.parameters)
        first = (X,) if method else ()
        for form in binder.signatures_of(packet, method):
            if isinstance(form, binder.OldSignature):
                continue  # taken with a warning, and shown by none
            names = [p.name + "_" * keyword.iskeyword(p.name) for p in form.parameters]
            signature.bind(*first, **dict.fromkeys(names))
            if form.out is not None:
                signature.bind(*first, **dict.fromkeys([*names, "out"]))
            signature.bind(*first, *form.positional[: form.required])


def test_a_signature_is_one() -> None:
    signature = inspect.signature(mt_core.add)
    assert list(signature.parameters) == ["input", "other", "alpha", "out"]
    assert signature.parameters["other"].annotation is Tensor
    assert signature.parameters["alpha"].default == 1
    assert (
        signature
        == pickle.loads(pickle.dumps(signature))
        == signature.replace(return_annotation=inspect.Signature.empty)
    )
    assert list(inspect.signature(Tensor.add).parameters) == ["self", "other", "alpha"]
    assert list(inspect.signature(mt_core.ones(1).add).parameters) == ["other", "alpha"]
    assert signature.bind(1, other=2).arguments == {"input": 1, "other": 2}
    text = pydoc.plain(pydoc.render_doc(mt_core.add))
    assert f"add{signature}\n    add(input, other, *, alpha=1, out=None) -> Tensor" in text


@pytest.mark.parametrize("outs", [(Y,), (Y, Y.long(), Y)])
def test_as_many_outputs_are_given_as_there_are_results(outs: tuple[Tensor, ...]) -> None:
    with pytest.raises(TypeError, match=f"expected tuple of 2 elements but got {len(outs)}"):
        mt_core.sort(X, out=outs)
    with pytest.raises(TypeError, match="argument 'out' must be tuple of Tensors, not Tensor"):
        mt_core.sort(X, out=Y)
