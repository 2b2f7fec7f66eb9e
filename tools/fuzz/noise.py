"""Differences that mean nothing, each by a predicate with its reason."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from .comparison import Difference, close
from .machine import Notes
from .sights import Sight, elements_of

__all__ = ["HANGS_ON_ROUNDING", "LIMIT", "NOISE", "OF_BUILDS", "OF_SIZES", "Doubt", "reason_for"]

#: The reason of `rounding.Rounding`, which asks PyTorch once more.
HANGS_ON_ROUNDING = "PyTorch, too, answers otherwise where numbers are rounded otherwise"
#: Programs that may fall under noise, of all.
LIMIT = 0.005

_WRITTEN = re.compile(r"(?:with [^:]*: )?(?P<target>v\d+)(?P<view>.*)\.\w+_\((?P<read>.*)\)$")
_OUT = re.compile(r"(?:with [^:]*: )?(?:\w+ = )?(?P<read>.*)\bout=\(?(?P<target>v\d+)(?P<view>[^,)]*)")
#: What PyTorch has kernels for that read or write raw memory.
_STRIDELESS = re.compile(
    r"\b(native_group_norm|rrelu_with_noise|rnn_tanh|rnn_relu|gru|lstm)\(|\b(avg_pool3d|narrow_copy|fftfreq|rfftfreq)\(.*out="
)
#: Calls that update running statistics, or write the noise that they draw, with their arguments.
_STATISTICS = re.compile(
    r"\b(?:batch_norm|native_batch_norm|instance_norm|_native_batch_norm_legit|rrelu_with_noise_?)\((.*)\)"
)
_NAMES = re.compile(r"\b[vw]\d+\b")
#: What the memory of a tensor that is resized while it is read comes to.
_RESIZED = frozenset(("elements", "shape", "accepts", "raises", "shares", "requires_grad"))
#: Nodes of libraries that PyTorch's build hands whole calls to.
_OF_LIBRARIES = re.compile(r"Mkldnn\w+|ScaledDotProductFlashAttentionForCpu\w+")
#: Operators of PyTorch's that make their results in larger memory, which these keep.
_LEAVING_MEMORY = re.compile(r"\b(col2im|lstsq|embedding_bag)\(")
#: What PyTorch says of places in its sources, and of views that it makes on the way.
_INTERNAL = re.compile(
    r"INTERNAL ASSERT FAILED|^setStorage: sizes|^TensorAccessor expected|Could this error message be"
)
#: What makes elements of fewer digits, and the dtype whose tolerance they have then.
_COARSE = (
    (re.compile(r"float8|complex32|chalf"), "float8"),
    (re.compile(r"bfloat16"), "bfloat16"),
    (re.compile(r"float16|\.half\("), "float16"),
)


class Doubt(NamedTuple):
    """A difference, with all that is known of its line: the lines up to it, its notes in PyTorch and here.

    `before` holds PyTorch's notes of the lines before it.
    """

    difference: Difference
    lines: list[str]
    wanted: dict[str, Sight]
    got: dict[str, Sight]
    before: list[Notes]
    after: list[Notes]

    @property
    def line(self) -> str:
        return self.lines[-1]

    def pairs(self) -> Iterator[tuple[Sight, Sight]]:
        """The tensors that are seen under the name that differs, side by side."""
        sights = (side.get(self.difference.name) for side in (self.wanted, self.got))
        yield from zip(*(_tensors(sight) for sight in sights), strict=False)

    def refused(self, words: str) -> bool:
        """Whether PyTorch refuses the line in such words."""
        return re.search(words, self.wanted.get("error", {}).get("text", "")) is not None

    def shape_before(self, name: str) -> list[int] | None:
        """The shape of a variable as it was last seen before the line."""
        sights = (sight for notes in reversed(self.before) for found, sight in notes if found == name)
        return next((sight.get("shape") for sight in sights), None)

    def origins(self) -> list[str]:
        """The lines that the line hangs on: those that name one of its variables, and theirs in turn."""
        names, found = set(_NAMES.findall(self.line)), [self.line]
        for line in reversed(self.lines[:-1]):
            of_line = set(_NAMES.findall(line))
            if not names.isdisjoint(of_line):
                names |= of_line
                found.append(line)
        return found

    def in_memory_of(self, name: str) -> set[str]:
        """The variables that share memory with one, as PyTorch tells it when the program has ended."""
        owners = {
            key.removesuffix(" shares"): sight["shares"]
            for key, sight in (self.after[-1] if self.after else ())
            if sight["kind"] == "memory"
        }
        return {other for other, owner in owners.items() if owner == owners.get(name)} | {name}

    def agrees_as(self, dtype: str) -> bool:
        """Whether all elements agree to the tolerance of a coarser dtype."""
        return all(close(dtype, elements_of(a), elements_of(b)) for a, b in self.pairs() if a["elements"] is not None)


def _tensors(sight: Sight | None) -> list[Sight]:
    if sight is None:
        return []
    if sight["kind"] == "tensor":
        return [sight]
    return [tensor for item in sight.get("items", ()) for tensor in _tensors(item)]


def writes_what_it_may_not(doubt: Doubt) -> bool:
    """PyTorch writes first, and then refuses."""
    return doubt.refused("Inplace update to inference tensor")


def divides_by_zero(doubt: Doubt) -> bool:
    return doubt.refused("ZeroDivision")


def stops_at_an_index(doubt: Doubt) -> bool:
    """PyTorch writes one index after the other, up to one that is out of range; here all are looked at first."""
    return doubt.wanted.get("error", {}).get("type") == "IndexError" and "error" in doubt.got


def was_never_written(doubt: Doubt) -> bool:
    """The output of a line that both refuse, after it got its shape."""
    found = _OUT.match(doubt.line)
    if found is None or "error" not in doubt.wanted or "error" not in doubt.got:
        return False
    name = found["target"]
    return name == doubt.difference.name and doubt.wanted[name].get("shape") != doubt.shape_before(name)


def grows_what_cannot_grow(doubt: Doubt) -> bool:
    """Memory that NumPy has seen cannot grow: PyTorch gives the tensor its new shape over too little, then refuses."""
    return doubt.refused("storage that is not resizable")


def resizes_what_it_reads(doubt: Doubt) -> bool:
    """``out`` is an input, and gets the result's shape before PyTorch reads it: it reads what is not, or is refused."""
    found = _OUT.match(doubt.line)
    if found is None or not _is_read(doubt, found):
        return False
    after = doubt.wanted.get(found["target"], {}).get("shape")
    return after is not None and after != doubt.shape_before(found["target"])


def reads_what_it_writes(doubt: Doubt) -> bool:
    """A view of a variable is written by a line that reads the variable, or the other way round."""
    found = _WRITTEN.match(doubt.line) or _OUT.match(doubt.line)
    if found is None or not _is_read(doubt, found):
        return False
    return bool(found["view"]) or found["read"].strip() != found["target"]


def _is_read(doubt: Doubt, found: re.Match[str]) -> bool:
    """Whether what a line writes, or another variable on its memory, is read by the line too."""
    names = doubt.in_memory_of(found["target"])
    return not names.isdisjoint(re.findall(r"\bv\d+\b", found["read"]))


def gives_a_tensor_twice(doubt: Doubt) -> bool:
    """Statistics that are a weight, too, and noise that is the input, are written before they are read, or after."""
    found = _STATISTICS.search(doubt.line)
    return found is not None and len(names := re.findall(r"\bv\d+\b", found[1])) > len(set(names))


def writes_what_elements_share(doubt: Doubt) -> bool:
    """Several elements of what is written lie in one place (``unfold``, ``as_strided``)."""
    found = _WRITTEN.match(doubt.line)
    if found is None:
        return False
    if found["view"]:
        return re.search(r"\.(unfold|as_strided|expand|broadcast_to)\(", found["view"]) is not None
    sights = (sight for notes in reversed(doubt.before) for name, sight in notes if name == found["target"])
    sight = next((sight for sight in sights if sight["kind"] == "tensor"), None)
    return sight is not None and _shares_elements(sight["shape"], sight["strides"])


def _shares_elements(shape: list[int], strides: list[int]) -> bool:
    reach = 0
    for stride, size in sorted(zip(strides, shape, strict=True)):
        if size > 1:
            if stride <= reach:
                return True
            reach += stride * (size - 1)
    return False


def writes_what_it_saved(doubt: Doubt) -> bool:
    """A backward pass that PyTorch refuses for a write that is none of the program's: its operator wrote."""
    written = r"(?<!requires_grad)_\(|\][^=!<>]*=[^=]|[-+*/%&|^<>]= |out=|inplace=True|\.step\("
    return doubt.refused("has been modified by an inplace operation") and not any(
        re.search(written, line) for line in doubt.origins()
    )


def transforms_nothing(doubt: Doubt) -> bool:
    """PyTorch's library of Fourier transforms refuses a batch of none."""
    return doubt.refused("MKL FFT error")


def refuses_a_layout(doubt: Doubt) -> bool:
    """A kernel of PyTorch's asks for a view of an argument that its layout has not."""
    return (
        doubt.refused("view size is not compatible with input tensor's size and stride") and ".view" not in doubt.line
    )


def fails_inside(doubt: Doubt) -> bool:
    """PyTorch fails in a place that no call is meant to reach."""
    return doubt.refused(
        "INTERNAL ASSERT FAILED|DispatchKey Conjugate doesn't correspond to a device|"
        "'torch.storage.UntypedStorage' has no attribute 'dtype'"
    )


def counts_with_inference(doubt: Doubt) -> bool:
    """Inference tensors that require grad, outside of inference mode: each operator's parts decide what is recorded.

    No layer of PyTorch's sees such a tensor, but parts of an operator make normal tensors, which then are recorded.
    """
    names = set(re.findall(r"\bv\d+\b", doubt.line)) | {doubt.difference.name.split(".")[0]}
    return any(
        sight.get("inference") and sight.get("requires_grad")
        for notes in doubt.before
        for name, sight in notes
        if name in names
    )


def refuses_shared_elements(doubt: Doubt) -> bool:
    """Triangles are written to memory that elements share, which is refused here."""
    refused = "more than one element of the written-to tensor" in doubt.got.get("error", {}).get("text", "")
    return refused and re.search(r"\.tri[lu]_\(", doubt.line) is not None


def is_of_no_numbers(doubt: Doubt) -> bool:
    """Factorizations of what is not finite: PyTorch's library gives numbers or an error, or ends the process."""
    return doubt.refused("failed to converge") and any(
        sight.get("elements") and not np.isfinite(elements_of(sight)).all()
        for notes in doubt.before
        for name, sight in notes
        if re.search(rf"\b{name}\b", doubt.line) and sight.get("dtype", "").startswith(("float", "complex"))
    )


def takes_too_long(doubt: Doubt) -> bool:
    """PyTorch took longer for a line than it may, which leaves what it was importing half imported."""
    return doubt.wanted.get("error", {}).get("type") == "Late" or doubt.refused("partially initialized module 'torch")


def passes_over_strides(doubt: Doubt) -> bool:
    """A kernel of PyTorch's reads or writes an argument with gaps as if there were none."""
    name = doubt.difference.name
    calls = [line for line in doubt.lines if _STRIDELESS.search(line)]
    return any(_has_gaps(line, doubt.lines) for line in calls if line is doubt.line or re.search(rf"\b{name}\b", line))


def _has_gaps(line: str, lines: list[str]) -> bool:
    """Whether a line shows a tensor with gaps, or a variable that was made with some."""
    names = set(re.findall(r"\bv\d+\b", line))
    made = [other for other in lines if (found := re.match(r"(v\d+) = ", other)) and found[1] in names]
    return any(re.search(r", -1\)\[\.\.\., 0\]|\[(\.\.\., )?::\d\]|\.permute\(", text) for text in [line, *made])


def is_polynomial_of_nan(doubt: Doubt) -> bool:
    """PyTorch's recurrences of polynomials end at once for NaN, and give what was in memory."""
    return "_polynomial_" in doubt.line and all(
        close(b["dtype"], np.where(np.isnan(elements_of(b)), np.nan, elements_of(a)), elements_of(b))
        for a, b in doubt.pairs()
        if a["elements"] is not None and np.dtype(b["dtype"]).kind == "f"
    )


def shows_bits(doubt: Doubt) -> bool:
    """Elements are read as those of another dtype, in which the last bit of a rounded number counts."""
    return re.search(r"\.view\(torch\.\w+\)|view_copy\(.*torch\.\w+\)", doubt.line) is not None


def has_complex_infinities(doubt: Doubt) -> bool:
    """Of a complex number that is not finite, products give any parts."""
    return all(
        close(b["dtype"], *(np.where(lost, 0, elements) for elements in (x, y)))
        for a, b in doubt.pairs()
        if a["elements"] is not None and a["dtype"].startswith("complex")
        for x, y in [(elements_of(a), elements_of(b))]
        for lost in [~np.isfinite(x) & ~np.isfinite(y)]
    ) and any(a["dtype"].startswith("complex") for a, _ in doubt.pairs())


def pads_beside_infinities(doubt: Doubt) -> bool:
    """A convolution multiplies padding with weights that are not finite, or passes it over, as its algorithm does."""
    finite = all(
        (~np.isfinite(y) | ~np.isfinite(x) | (np.abs(x - y) < 1e-3 * np.abs(x) + 1e-3)).all()
        for x, y in (
            (elements_of(a), elements_of(b)) for a, b in doubt.pairs() if a["elements"] and a["dtype"].startswith("f")
        )
    )
    return finite and re.search(r"conv\w*\(.*(nan|inf)", doubt.line) is not None


def starts_before_the_first(doubt: Doubt) -> bool:
    """PyTorch's gradient of ``narrow_copy`` from a negative place is zero."""
    return any(re.search(r"narrow_copy\([^()]*(\([^()]*\)[^()]*)*, -\d+, ", line) for line in doubt.lines)


def is_of_half_precision(doubt: Doubt) -> bool:
    """A result of half precision that was cast, or written to a wider ``out``."""
    text = "\n".join(doubt.lines)
    return any(doubt.agrees_as(dtype) for pattern, dtype in _COARSE if pattern.search(text))


def is_of_single_precision(doubt: Doubt) -> bool:
    seen = "\n".join(doubt.lines) + " ".join(
        str(sight.get("dtype")) for notes in (*doubt.before, doubt.wanted.items()) for _, sight in notes
    )
    return re.search("float32|complex64", seen) is not None and all(
        close("float32" if a["dtype"] in ("float64", "complex128") else a["dtype"], elements_of(a), elements_of(b))
        for a, b in doubt.pairs()
        if a["elements"] is not None
    )


def is_of_a_library(doubt: Doubt) -> bool:
    """PyTorch's CPU hands recurrent layers to oneDNN and attention to a fused kernel, and names their nodes so."""
    return any(_OF_LIBRARIES.fullmatch(sight["grad_fn"] or "") for sight, _ in doubt.pairs())


def leaves_memory(doubt: Doubt) -> bool:
    """The larger memory that a result was made in is of no use to it; to make it so would cost that memory."""
    name = doubt.difference.name.removesuffix(" shares")
    made = [re.match(rf"(?:with [^:]*: )?{name} = (\w+)\[", line) for line in doubt.lines]
    names = [name, *(found[1] for found in made if found)]
    return any(_LEAVING_MEMORY.search(line) and re.search(rf"\b({'|'.join(names)}) = ", line) for line in doubt.lines)


def is_internal(doubt: Doubt) -> bool:
    """Both refuse a line, PyTorch by an assertion that is not written for its callers."""
    return doubt.refused(_INTERNAL.pattern)


#: Reason -> what holds where it applies. All but those of `OF_SIZES` are about elements alone.
NOISE: dict[str, Callable[[Doubt], bool]] = {
    "written to an inference tensor before PyTorch refuses it": writes_what_it_may_not,
    "written before a division by zero is met": divides_by_zero,
    "written before an index out of range is met": stops_at_an_index,
    "resized for a result that was refused": was_never_written,
    "reads memory while it is written, in an order that PyTorch leaves open": reads_what_it_writes,
    "several elements of what is written share memory": writes_what_elements_share,
    "running statistics or noise that are read as something else": gives_a_tensor_twice,
    "parts of complex infinities": has_complex_infinities,
    "padding beside weights that are not finite": pads_beside_infinities,
    "a gradient of narrow_copy that PyTorch loses": starts_before_the_first,
    "polynomials of NaN": is_polynomial_of_nan,
    "bits of rounded numbers": shows_bits,
    "rounded to half precision on the way": is_of_half_precision,
    "rounded to single precision on the way": is_of_single_precision,
}
#: The same for differences of `_RESIZED` fields.
OF_SIZES: dict[str, Callable[[Doubt], bool]] = {
    "gets a shape that its memory is too small for": grows_what_cannot_grow,
    "resizes an input before it is read": resizes_what_it_reads,
    "an operator of PyTorch's writes what it has saved": writes_what_it_saved,
    "a Fourier transform of nothing": transforms_nothing,
    "a layout that PyTorch's kernel refuses": refuses_a_layout,
    "PyTorch fails inside": fails_inside,
    "a factorization of what is not finite": is_of_no_numbers,
    "an inference tensor that requires grad": counts_with_inference,
    "triangles of memory that elements share": refuses_shared_elements,
    "takes PyTorch too long": takes_too_long,
    "read as if its elements lay side by side": passes_over_strides,
}


#: Field -> the same for differences of names, words and sizes of memory, which follow from how PyTorch was built.
OF_BUILDS: dict[str, dict[str, Callable[[Doubt], bool]]] = {
    "grad_fn": {"named after a library of PyTorch's build": is_of_a_library},
    "nbytes": {"made in larger memory": leaves_memory},
    "text": {"refused by an assertion inside of PyTorch": is_internal},
    "type": {"refused by an assertion inside of PyTorch": is_internal},
}


def reason_for(lines: list[str], difference: Difference, wanted: list[Notes], got: list[Notes] | None) -> str:
    """Why a difference means nothing; an empty text where it means something."""
    if difference.field not in _RESIZED and difference.field not in OF_BUILDS or got is None:
        return ""
    number = difference.line
    doubt = Doubt(difference, lines[: number + 1], dict(wanted[number]), dict(got[number]), wanted[:number], wanted)
    predicates = OF_SIZES | NOISE if difference.field == "elements" else OF_BUILDS.get(difference.field, OF_SIZES)
    return next((reason for reason, holds in predicates.items() if holds(doubt)), "")
