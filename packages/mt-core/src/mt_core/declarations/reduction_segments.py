"""Reductions of segments, and hashes: declarations."""

from __future__ import annotations

from ._checks import FLOATS, Supported
from .reduction import family

family.composite(
    "segment_reduce(Tensor data, str reduce, *, Tensor? lengths=None, Tensor? indices=None, Tensor? offsets=None, "
    "int axis=0, bool unsafe=False, Scalar? initial=None) -> Tensor",
    variants="function",
    dtypes=Supported("_segment_reduce_cpu", FLOATS),
    doc="Sum, mean, product, maximum or minimum of each of the segments that follow one another along `axis`; `lengths` "
    "or `offsets` (one more than segments) may have leading dimensions of the data. `initial` takes part in each; "
    "without it empty segments give 0, nan, 1, -inf and inf.",
)
family.composite(
    "hash_tensor(Tensor self, int[1] dim=[], *, bool keepdim=False, int mode=0) -> Tensor",
    out=True,
    exact_out="Expected result to be of dtype uint64, but got {out}",
    doc="Exclusive or of the elements' bits along dimensions, floating point as float64 and integers as int64; uint64.",
)
