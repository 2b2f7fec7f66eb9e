"""``ProcessGroup``: the operations of PyTorch's process groups, on tensors, over a `Communicator`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import numpy as np

from mt_core.dtypes import scalar_type_name

from .contract import Communicator, Request
from .errors import DistBackendError
from .lifeline import Lifeline
from .options import UNSET, AllreduceOptions, BroadcastOptions, ReduceOptions
from .reduce_ops import RedOpType, kind_of
from .stores import Store
from .tensors import array_of, flat_of, written
from .work import Operation, Work, mover

__all__ = ["ProcessGroup"]

#: What Gloo refuses to take bit by bit.
_BITWISE = (RedOpType.BAND, RedOpType.BOR, RedOpType.BXOR)


class ProcessGroup:
    """Ranks that work together.

    Every operation takes tensors, alone or in lists as PyTorch has it, and options or their main value, and returns
    `Work` that was begun. A subclass, or another class with these methods, serves as well (`Backend.register_backend`).

    Parameters
    ----------
    communicator
        What carries operations out.
    backend
        The name that the program asked for.
    ranks
        The ranks of the world in this group, in its order.
    lifeline
        Who is alive; None for a group of one.
    timeout
        How long an operation may take.
    name, description
        What the group is called.
    store
        Keys and values of this group.
    """

    class BackendType:
        """Numbers of backends, for those who compare them."""

        UNDEFINED, GLOO, NCCL, UCC, MPI, XCCL, CUSTOM = 0, 1, 2, 3, 4, 5, 6

    def __init__(
        self,
        communicator: Communicator,
        *,
        backend: str,
        ranks: Sequence[int],
        lifeline: Lifeline | None,
        timeout: timedelta,
        name: str,
        description: str,
        store: Store | None,
        devices: Sequence[str] = ("cpu",),
    ) -> None:
        self._communicator, self._backend = communicator, backend
        self._ranks = tuple(ranks)
        self._others = tuple(rank for at, rank in enumerate(ranks) if at != communicator.rank)
        self._lifeline, self._timeout, self._store = lifeline, timeout, store
        self._name, self._description, self._devices = name, description, tuple(devices)
        self._sequence = 0
        self._failure: str | None = None
        self.bound_device_id: Any = None

    def rank(self) -> int:
        """This process's rank in the group."""
        return self._communicator.rank

    def size(self) -> int:
        """How many ranks the group has."""
        return self._communicator.size

    def name(self) -> str:
        """The backend's name."""
        return self._backend

    @property
    def group_name(self) -> str:
        """The name that all ranks have for it."""
        return self._name

    @property
    def group_desc(self) -> str:
        """What it is for."""
        return self._description

    def _get_backend_name(self) -> str:
        return self._backend

    def _get_sequence_number_for_group(self) -> int:
        return self._sequence

    def get_group_store(self) -> Store:
        """The store of the group's ranks."""
        if self._store is None:
            raise RuntimeError("this process group has no store")
        return self._store

    def set_timeout(self, timeout: timedelta) -> None:
        """Say how long operations may take from now on."""
        self._timeout = timeout

    # Beginning operations.

    def _count(self) -> int:
        if self._failure is not None:
            raise DistBackendError(f"the process group {self._name} cannot be used any more: {self._failure}")
        self._sequence += 1
        return self._sequence

    def _begun(
        self,
        what: str,
        begin: Callable[[], Sequence[Request]],
        tensors: Sequence[Any],
        finish: Callable[[], None] | None = None,
        *,
        timeout: timedelta = UNSET,
        ranks: tuple[int, ...] | None = None,
        is_async: bool = True,
    ) -> Work:
        number = self._count()
        seconds = (self._timeout if timeout == UNSET or timeout == timedelta(0) else timeout).total_seconds()
        broke: RuntimeError | None = None
        try:
            requests = begin()
        except RuntimeError as error:  # the library's, such as of a connection to a rank that has just died
            if self._lifeline is None or isinstance(error, (DistBackendError, NotImplementedError)):
                raise
            requests, broke = [_Never()], error
        operation = Operation(
            requests,
            finish,
            tensors,
            name=f"{what} (number {number} of process group {self._name} '{self._description}', rank {self.rank()})",
            seconds=seconds,
            lifeline=self._lifeline,
            ranks=self._others if ranks is None else ranks,
            failed=lambda error: self._break(what, number, error),
        )
        if broke is not None:
            operation.broke(broke)
        if not operation.advance() and is_async:
            mover.take(operation)
        return operation

    def _break(self, what: str, number: int, error: BaseException) -> None:
        if self._failure is None:  # what comes after it says the cause: nobody may be waiting for this one
            self._failure = f"{what}, its operation number {number}, failed: {error}"
        self._communicator.abort()

    def _taken(self, tensors: Sequence[Any]) -> None:
        for tensor in tensors:
            kind = tensor.device.type
            if kind not in self._devices:
                raise RuntimeError(f"No backend type associated with device type {kind}")

    def _reduction(self, tensor: Any, op: Any) -> tuple[str, Callable[[np.ndarray], None] | None, Any]:
        """The communicator's name of a reduction, what is done to its result, and the factor before it."""
        kind, factor = kind_of(op)
        if kind in _BITWISE and (tensor.is_floating_point() or tensor.is_complex()):
            raise RuntimeError(f"Cannot use ReduceOp.{kind.name} with non-integral dtype")
        if kind is RedOpType.AVG:
            if not (tensor.is_floating_point() or tensor.is_complex()):
                raise RuntimeError(f"result type Float can't be cast to the desired output type {_scalar_type(tensor)}")
            return "sum", lambda array: np.divide(array, self.size(), out=array, casting="unsafe"), None
        if kind is RedOpType.PREMUL_SUM:
            return "sum", None, factor
        return kind.name.lower(), None, None

    # Operations.

    def allreduce(self, tensors: Any, opts: Any = None, timeout: timedelta = UNSET) -> Work:
        """Reduce a tensor in place on all ranks."""
        tensor, options = _one(tensors), _options(opts, AllreduceOptions, "reduceOp", timeout)
        self._taken([tensor])
        op, after, factor = self._reduction(tensor, options.reduceOp)
        array, back = written(tensor)
        if factor is not None:
            np.multiply(array, _number(factor), out=array, casting="unsafe")
        return self._begun(
            "all_reduce",
            lambda: [self._communicator.all_reduce(array, op)],
            [tensor],
            _then(_on(after, array), back),
            timeout=options.timeout,
            is_async=options.asyncOp,
        )

    def allreduce_coalesced(self, tensors: Sequence[Any], opts: Any = None) -> Work:
        """Reduce several tensors of one dtype as one."""
        options = _options(opts, AllreduceOptions, "reduceOp", UNSET)
        self._taken(tensors)
        op, after, factor = self._reduction(tensors[0], options.reduceOp)
        flat, back = flat_of(tensors)
        if factor is not None:
            np.multiply(flat, _number(factor), out=flat, casting="unsafe")
        return self._begun(
            "all_reduce_coalesced",
            lambda: [self._communicator.all_reduce(flat, op)],
            tensors,
            _then(_on(after, flat), back),
            timeout=options.timeout,
            is_async=options.asyncOp,
        )

    def reduce(self, tensors: Any, opts: Any = None, op: Any = None) -> Work:
        """Reduce a tensor in place on the root."""
        options = _options(opts, ReduceOptions, "rootRank", UNSET)
        if op is not None:
            options.reduceOp = op
        tensor = _one(tensors)
        self._taken([tensor])
        name, after, factor = self._reduction(tensor, options.reduceOp)
        is_root = self.rank() == options.rootRank
        array, back = written(tensor) if is_root else (array_of(tensor), None)
        if factor is not None:
            array = np.multiply(array, _number(factor), out=array if is_root else None, casting="unsafe")
        return self._begun(
            "reduce",
            lambda: [self._communicator.reduce(array, options.rootRank, name)],
            [tensor],
            _then(_on(after, array) if is_root else None, back),
            timeout=options.timeout,
            is_async=options.asyncOp,
        )

    def broadcast(self, tensors: Any, opts: Any = None, timeout: timedelta = UNSET) -> Work:
        """Give every rank the root's tensor."""
        tensor, options = _one(tensors), _options(opts, BroadcastOptions, "rootRank", timeout)
        self._taken([tensor])
        is_root = self.rank() == options.rootRank
        array, back = (array_of(tensor), None) if is_root else written(tensor)
        return self._begun(
            "broadcast",
            lambda: [self._communicator.broadcast(array, options.rootRank)],
            [tensor],
            back,
            timeout=options.timeout,
            is_async=options.asyncOp,
        )

    def allgather(self, output_tensors: Any, input_tensors: Any, opts: Any = None) -> Work:
        """Every rank's tensor, into a list of tensors."""
        tensor, outputs = _one(input_tensors), _list(output_tensors)
        self._taken([tensor, *outputs])
        _same_sizes("ProcessGroupGloo::allgather", outputs, tensor)
        return self._gathering("all_gather", outputs, [tensor], opts)

    def allgather_coalesced(
        self, output_lists: Sequence[Sequence[Any]], inputs: Sequence[Any], opts: Any = None
    ) -> Work:
        """Every rank's tensors, into a list for each rank."""
        outputs = [tensor for given in output_lists for tensor in given]
        self._taken([*inputs, *outputs])
        return self._gathering("all_gather_coalesced", outputs, list(inputs), opts)

    def _gathering(self, what: str, outputs: list[Any], inputs: list[Any], opts: Any) -> Work:
        sent = [array_of(tensor) for tensor in inputs]
        array = sent[0] if len(sent) == 1 else _as_bytes(sent)
        received = np.empty(self.size() * array.size, array.dtype)
        spread = _spreading(outputs, received)
        return self._begun(
            what,
            lambda: [self._communicator.all_gather(received, array)],
            outputs,
            spread,
            timeout=_timeout(opts),
            is_async=_is_async(opts),
        )

    def _allgather_base(self, output: Any, tensor: Any, opts: Any = None) -> Work:
        self._taken([output, tensor])
        array = array_of(tensor)
        received, back = written(output)
        return self._begun(
            "all_gather_into_tensor",
            lambda: [self._communicator.all_gather(received, array)],
            [output],
            back,
            timeout=_timeout(opts),
            is_async=_is_async(opts),
        )

    all_gather_single = _allgather_base

    def allgather_into_tensor_coalesced(self, outputs: Sequence[Any], inputs: Sequence[Any], opts: Any = None) -> Work:
        """`_allgather_base` of several pairs."""
        self._taken([*outputs, *inputs])
        arrays = [array_of(tensor) for tensor in inputs]
        places = [written(tensor) for tensor in outputs]
        return self._begun(
            "all_gather_into_tensor_coalesced",
            lambda: [self._communicator.all_gather(place, array) for (place, _), array in zip(places, arrays)],
            outputs,
            _then(*(back for _, back in places)),
            timeout=_timeout(opts),
            is_async=_is_async(opts),
        )

    def gather(self, output_tensors: Any, input_tensors: Any, opts: Any = None, timeout: timedelta = UNSET) -> Work:
        """Every rank's tensor, into a list of tensors on the root."""
        root = opts if isinstance(opts, int) else 0 if opts is None else opts.rootRank
        tensor = _one(input_tensors)
        outputs = _list(output_tensors) if self.rank() == root else []
        self._taken([tensor, *outputs])
        if self.rank() == root:
            _same_sizes("ProcessGroupGloo::gather", outputs, tensor)
        array = array_of(tensor)
        received = np.empty(self.size() * array.size, array.dtype) if self.rank() == root else None
        return self._begun(
            "gather",
            lambda: [self._communicator.gather(received, array, root)],
            outputs,
            None if received is None else _spreading(outputs, received),
            timeout=_timeout(opts),
            is_async=_is_async(opts),
        )

    def scatter(self, output_tensors: Any, input_tensors: Any, opts: Any = None, timeout: timedelta = UNSET) -> Work:
        """A tensor of the root's list for each rank."""
        root = opts if isinstance(opts, int) else 0 if opts is None else opts.rootRank
        output = _one(output_tensors)
        inputs = _list(input_tensors) if self.rank() == root else []
        self._taken([output, *inputs])
        if self.rank() == root:
            _same_sizes("ProcessGroupGloo::scatter", inputs, output)
        sent = np.concatenate([array_of(tensor).reshape(-1) for tensor in inputs]) if self.rank() == root else None
        array, back = written(output)
        return self._begun(
            "scatter",
            lambda: [self._communicator.scatter(array, sent, root)],
            [output],
            back,
            timeout=_timeout(opts),
            is_async=_is_async(opts),
        )

    def reduce_scatter(self, output_tensors: Any, input_tensors: Any, opts: Any = None) -> Work:
        """Reduce a list of tensors, and give each rank its one."""
        output, inputs = _one(output_tensors), _list(input_tensors)
        self._taken([output, *inputs])
        _same_sizes("ProcessGroupGloo::reduce_scatter", inputs, output)
        array = np.concatenate([array_of(tensor).reshape(-1) for tensor in inputs])
        return self._scattering("reduce_scatter", [(output, array)], opts)

    def _reduce_scatter_base(self, output: Any, tensor: Any, opts: Any = None) -> Work:
        self._taken([output, tensor])
        return self._scattering("reduce_scatter_tensor", [(output, array_of(tensor))], opts)

    reduce_scatter_single = _reduce_scatter_base

    def reduce_scatter_tensor_coalesced(self, outputs: Sequence[Any], inputs: Sequence[Any], opts: Any = None) -> Work:
        """`_reduce_scatter_base` of several pairs."""
        self._taken([*outputs, *inputs])
        pairs = [(output, array_of(tensor)) for output, tensor in zip(outputs, inputs)]
        return self._scattering("reduce_scatter_tensor_coalesced", pairs, opts)

    def _scattering(self, what: str, pairs: list[tuple[Any, np.ndarray]], opts: Any) -> Work:
        options = _options(opts, AllreduceOptions, "reduceOp", UNSET)
        name, after, factor = self._reduction(pairs[0][0], options.reduceOp)
        places = [written(output) for output, _ in pairs]
        arrays = [array if factor is None else (array * _number(factor)).astype(array.dtype) for _, array in pairs]

        def begin() -> list[Request]:
            return [self._communicator.reduce_scatter(place, array, name) for (place, _), array in zip(places, arrays)]

        def average() -> None:
            for place, _ in places:
                if after is not None:
                    after(place)

        return self._begun(
            what,
            begin,
            [output for output, _ in pairs],
            _then(average, *(back for _, back in places)),
            timeout=options.timeout,
            is_async=options.asyncOp,
        )

    def alltoall(self, output_tensors: Sequence[Any], input_tensors: Sequence[Any], opts: Any = None) -> Work:
        """Give each rank a tensor of a list, and get one from each."""
        self._taken([*output_tensors, *input_tensors])
        sent = np.concatenate([array_of(tensor).reshape(-1) for tensor in input_tensors])
        received = np.empty(sum(tensor.numel() for tensor in output_tensors), sent.dtype)
        return self._begun(
            "all_to_all",
            lambda: [
                self._communicator.all_to_all(
                    received, sent, [t.numel() for t in output_tensors], [t.numel() for t in input_tensors]
                )
            ],
            output_tensors,
            _spreading(list(output_tensors), received),
            timeout=_timeout(opts),
            is_async=_is_async(opts),
        )

    def alltoall_base(
        self, output: Any, tensor: Any, output_splits: Sequence[int], input_splits: Sequence[int], opts: Any = None
    ) -> Work:
        """Give each rank rows of a tensor, and get rows from each; without numbers of rows, as many for each."""
        self._taken([output, tensor])
        counts = [
            _counts(given, splits, self.size()) for given, splits in ((output, output_splits), (tensor, input_splits))
        ]
        array = array_of(tensor)
        received, back = written(output)
        return self._begun(
            "all_to_all_single",
            lambda: [self._communicator.all_to_all(received, array, *counts)],
            [output],
            back,
            timeout=_timeout(opts),
            is_async=_is_async(opts),
        )

    all_to_all_single = alltoall_base

    def send(self, tensors: Any, dst: int, tag: int = 0) -> Work:
        """Send a tensor to a rank of the group."""
        tensor = _one(tensors)
        self._taken([tensor])
        _contiguous(tensor)
        array = array_of(tensor)
        return self._begun(
            f"send to rank {dst}",
            lambda: [self._communicator.send(array, dst, tag)],
            [tensor],
            ranks=(self._ranks[dst],) if self.size() > 1 else (),
        )

    def recv(self, tensors: Any, src: int, tag: int = 0) -> Work:
        """Receive a tensor from a rank of the group."""
        return self._receiving(_one(tensors), src, tag)

    def recv_anysource(self, tensors: Any, tag: int = 0) -> Work:
        """Receive a tensor from any rank."""
        return self._receiving(_one(tensors), None, tag)

    def _receiving(self, tensor: Any, source: int | None, tag: int) -> Work:
        self._taken([tensor])
        _contiguous(tensor)
        array, back = written(tensor)
        return self._begun(
            "recv from any rank" if source is None else f"recv from rank {source}",
            lambda: [self._communicator.receive(array, source, tag)],
            [tensor],
            back,
            ranks=self._others if source is None else (self._ranks[source],) if self.size() > 1 else (),
        )

    def barrier(self, opts: Any = None) -> Work:
        """Done when all ranks have come."""
        return self._begun(
            "barrier",
            lambda: [self._communicator.barrier()],
            [],
            timeout=_timeout(opts),
            is_async=_is_async(opts),
        )

    def split(self, ranks: Sequence[int], name: str) -> Communicator:
        """The communicator of some ranks of this group, this one among them; only they call it."""
        others = tuple(self._ranks[rank] for rank in ranks if rank != self.rank())
        seconds = self._timeout.total_seconds()
        watched = Operation(
            [_Never()],
            None,
            [],
            name=f"new_group ({name}, of ranks {', '.join(map(str, ranks))}, rank {self.rank()})",
            seconds=seconds,
            lifeline=self._lifeline,
            ranks=others,
            failed=lambda error: self._break("new_group", self._sequence, error),
        )
        try:
            return self._communicator.split(ranks, name, watched.check)
        except DistBackendError:
            raise
        except RuntimeError as error:  # the library's
            watched.broke(error)
            watched.wait()
            raise

    def abort(self) -> None:
        """Give up what was begun, and use the group no more."""
        if self._failure is None:
            self._failure = "it was aborted"
        self._communicator.abort()

    def shutdown(self) -> None:
        """Use the group no more."""
        self._failure = "it was shut down"


class _Never:
    """Stands for what is waited for elsewhere."""

    def test(self) -> bool:
        return False


def _one(tensors: Any) -> Any:
    if isinstance(tensors, (list, tuple)):
        if len(tensors) != 1:
            raise RuntimeError(f"requires a single-element tensor list, and got {len(tensors)} tensors")
        return tensors[0]
    return tensors


def _list(tensors: Any) -> list[Any]:
    """A list of tensors, given as it is or as the only element of another."""
    tensors = list(tensors)
    return list(tensors[0]) if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else tensors


def _options(opts: Any, kind: type, main: str, timeout: timedelta) -> Any:
    """Options, given as such, as their main value, or not at all."""
    if opts is None:
        return kind(timeout=timeout)
    if hasattr(opts, "asyncOp"):
        return opts
    return kind(timeout=timeout, **{main: opts})


def _timeout(opts: Any) -> timedelta:
    return getattr(opts, "timeout", UNSET)


def _is_async(opts: Any) -> bool:
    return getattr(opts, "asyncOp", True)


def _then(*steps: Any) -> Callable[[], None] | None:
    given = [step for step in steps if step]
    if not given:
        return None
    if len(given) == 1:
        return given[0]

    def run() -> None:
        for step in given:
            step()

    return run


def _on(after: Callable[[np.ndarray], None] | None, array: np.ndarray) -> Callable[[], None] | None:
    return None if after is None else lambda: after(array)


def _number(factor: Any) -> Any:
    return array_of(factor) if hasattr(factor, "detach") else factor


def _as_bytes(arrays: Sequence[np.ndarray]) -> np.ndarray:
    return np.concatenate([array.reshape(-1).view(np.uint8) for array in arrays])


def _spreading(outputs: Sequence[Any], received: np.ndarray) -> Callable[[], None]:
    """What gives each tensor of a list its part of an array."""
    places = [written(tensor) for tensor in outputs]

    def spread() -> None:
        at, data = 0, received.view(np.uint8)
        for array, back in places:
            array.reshape(-1).view(np.uint8)[...] = data[at : at + array.nbytes]
            at += array.nbytes
            if back is not None:
                back()

    return spread


def _counts(tensor: Any, splits: Sequence[int], size: int) -> list[int]:
    rows = tensor.shape[0] if tensor.dim() else 1
    if not splits:
        if rows % size:
            raise RuntimeError("Tensor's dim 0 does not divide equally across group size")
        return [tensor.numel() // size] * size
    if len(splits) != size:
        raise RuntimeError("Number of tensor splits not equal to group size")
    if sum(splits) != rows:
        raise RuntimeError("Split sizes doesn't match total dim 0 size")
    row = tensor.numel() // rows if rows else 0
    return [split * row for split in splits]


def _contiguous(tensor: Any) -> None:
    if not tensor.is_contiguous():
        raise RuntimeError("input tensor has to be contiguous")


def _same_sizes(who: str, tensors: Sequence[Any], like: Any) -> None:
    for at, tensor in enumerate(tensors):
        if tensor.dtype != like.dtype:
            raise ValueError(f"{who}: invalid tensor type at index {at} (expected {like.dtype}, got {tensor.dtype})")
        if tensor.shape != like.shape:
            raise ValueError(
                f"{who}: invalid tensor size at index {at} (expected {tuple(like.shape)}, got {tuple(tensor.shape)})"
            )


def _scalar_type(tensor: Any) -> str:

    return scalar_type_name(tensor.dtype)
