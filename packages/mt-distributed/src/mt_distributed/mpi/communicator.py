"""Operations of MPI on NumPy arrays, none of which blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..contract import Communicator, Request
from . import wire_up
from .unstarted import MPI

__all__ = ["MPICommunicator"]

_OPS = {
    "sum": MPI.SUM,
    "product": MPI.PROD,
    "min": MPI.MIN,
    "max": MPI.MAX,
    "band": MPI.BAND,
    "bor": MPI.BOR,
    "bxor": MPI.BXOR,
}
#: Truth values are not bytes that are added: a sum that is not 0 is true.
_LOGICAL = {
    "sum": MPI.LOR,
    "product": MPI.LAND,
    "min": MPI.LAND,
    "max": MPI.LOR,
    "band": MPI.LAND,
    "bor": MPI.LOR,
    "bxor": MPI.LXOR,
}
#: NumPy's codes of the dtypes that MPI reduces, by kind and size.
_TYPES = {
    "f4": MPI.FLOAT,
    "f8": MPI.DOUBLE,
    "i1": MPI.INT8_T,
    "i2": MPI.INT16_T,
    "i4": MPI.INT32_T,
    "i8": MPI.INT64_T,
    "u1": MPI.UINT8_T,
    "u2": MPI.UINT16_T,
    "u4": MPI.UINT32_T,
    "u8": MPI.UINT64_T,
    "c8": MPI.C_FLOAT_COMPLEX,
    "c16": MPI.C_DOUBLE_COMPLEX,
}


class _Begun:
    """A request of MPI, and what is done when it is over; what it works on is kept alive by it."""

    def __init__(self, request: MPI.Request, *arrays: Any, after: Callable[[], None] | None = None) -> None:
        self._request, self._arrays, self._after = request, arrays, after

    def test(self) -> bool:
        if not self._request.Test():
            return False
        if self._after is not None:
            self._after()
            self._after = None
        return True


class _Received:
    """A request that knows afterwards who sent."""

    source: int | None = None

    def __init__(self, request: MPI.Request, array: Any) -> None:
        self._request, self._array, self._status = request, array, MPI.Status()

    def test(self) -> bool:
        if self.source is not None:
            return True
        if not self._request.Test(self._status):
            return False
        self.source = self._status.Get_source()
        return True


def _bytes(array: np.ndarray) -> list[Any]:
    """An array as MPI takes what it only moves."""
    return [array.reshape(-1).view(np.uint8), array.nbytes, MPI.BYTE]


def _operands(array: np.ndarray, op: str) -> tuple[np.ndarray, list[Any], MPI.Op]:
    """What MPI reduces in place of an array: itself, or a copy in float32 of a dtype that MPI has no arithmetic of."""
    if array.dtype.kind == "b":
        return array, [array.view(np.uint8), array.size, MPI.UINT8_T], _LOGICAL[op]
    code = f"{array.dtype.kind}{array.dtype.itemsize}"
    if code in _TYPES:
        return array, [array, array.size, _TYPES[code]], _OPS[op]
    wide = array.astype(np.float32)
    return wide, [wide, wide.size, MPI.FLOAT], _OPS[op]


class MPICommunicator(Communicator):
    """Operations among the processes of a communicator of mpi4py."""

    def __init__(self, comm: MPI.Intracomm) -> None:
        comm.Set_errhandler(MPI.ERRORS_RETURN)
        self._comm, self.rank, self.size = comm, comm.rank, comm.size

    def all_reduce(self, array: np.ndarray, op: str) -> Request:
        used, operand, operation = _operands(array, op)
        request = self._comm.Iallreduce(MPI.IN_PLACE, operand, operation)
        return _Begun(request, used, array, after=_back(array, used))

    def reduce(self, array: np.ndarray, root: int, op: str) -> Request:
        used, operand, operation = _operands(array, op)
        if self.rank == root:
            return _Begun(self._comm.Ireduce(MPI.IN_PLACE, operand, operation, root), used, after=_back(array, used))
        return _Begun(self._comm.Ireduce(operand, None, operation, root), used)

    def broadcast(self, array: np.ndarray, root: int) -> Request:
        return _Begun(self._comm.Ibcast(_bytes(array), root), array)

    def all_gather(self, output: np.ndarray, array: np.ndarray) -> Request:
        received = [output.reshape(-1).view(np.uint8), array.nbytes, MPI.BYTE]
        return _Begun(self._comm.Iallgather(_bytes(array), received), output, array)

    def gather(self, output: np.ndarray | None, array: np.ndarray, root: int) -> Request:
        received = None if output is None else [output.reshape(-1).view(np.uint8), array.nbytes, MPI.BYTE]
        return _Begun(self._comm.Igather(_bytes(array), received, root), output, array)

    def scatter(self, output: np.ndarray, array: np.ndarray | None, root: int) -> Request:
        sent = None if array is None else [array.reshape(-1).view(np.uint8), output.nbytes, MPI.BYTE]
        return _Begun(self._comm.Iscatter(sent, _bytes(output), root), output, array)

    def reduce_scatter(self, output: np.ndarray, array: np.ndarray, op: str) -> Request:
        used, operand, operation = _operands(array, op)
        if used is array and array.dtype.kind == "b":
            result, wanted = output, [output.view(np.uint8), output.size, operand[2]]
        else:
            result = output if used is array else np.empty(output.shape, used.dtype)
            wanted = [result, result.size, operand[2]]
        operand[1] = result.size  # mpi4py counts one part
        request = self._comm.Ireduce_scatter_block(operand, wanted, operation)
        return _Begun(request, used, result, after=_back(output, result))

    def all_to_all(
        self, output: np.ndarray, array: np.ndarray, output_counts: Sequence[int], input_counts: Sequence[int]
    ) -> Request:
        size = array.dtype.itemsize
        sent = [array.reshape(-1).view(np.uint8), _parts(input_counts, size), MPI.BYTE]
        received = [output.reshape(-1).view(np.uint8), _parts(output_counts, size), MPI.BYTE]
        return _Begun(self._comm.Ialltoallv(sent, received), output, array)

    def send(self, array: np.ndarray, to: int, tag: int) -> Request:
        return _Begun(self._comm.Isend(_bytes(array), to, tag), array)

    def receive(self, array: np.ndarray, source: int | None, tag: int) -> Request:
        given = MPI.ANY_SOURCE if source is None else source
        return _Received(self._comm.Irecv(_bytes(array), given, tag), array)

    def barrier(self) -> Request:
        return _Begun(self._comm.Ibarrier())

    def split(self, ranks: Sequence[int], name: str, check: Callable[[], None]) -> Communicator:
        group = self._comm.group.Incl(list(ranks))
        return MPICommunicator(wire_up.made(lambda: self._comm.Create_group(group, _tag(name)), check))

    def abort(self) -> None:
        wire_up.fail()


def _parts(counts: Sequence[int], size: int) -> tuple[list[int], list[int]]:
    """Counts and displacements in bytes."""
    lengths = [count * size for count in counts]
    return lengths, [sum(lengths[:at]) for at in range(len(lengths))]


def _back(array: np.ndarray, used: np.ndarray) -> Callable[[], None] | None:
    """What brings a result back to where it belongs, if it was computed elsewhere."""
    if used is array:
        return None

    def back() -> None:
        array[...] = used.reshape(array.shape)

    return back


def _tag(name: str) -> int:
    """A tag that groups made at one time by different ranks do not share."""
    return sum((index + 1) * ord(letter) for index, letter in enumerate(name)) % 32749
