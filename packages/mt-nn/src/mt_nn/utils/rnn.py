"""Sequences of different lengths: padded to the longest, or packed without padding."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import mt_core as mt
from mt_core import Tensor, device_methods
from mt_core.api._functions import _pack_padded_sequence, _pad_packed_sequence

__all__ = [
    "PackedSequence",
    "invert_permutation",
    "pack_padded_sequence",
    "pack_sequence",
    "pad_packed_sequence",
    "pad_sequence",
    "unpack_sequence",
    "unpad_sequence",
]


class PackedSequence_(NamedTuple):
    """The fields of a `PackedSequence`."""

    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


class PackedSequence(PackedSequence_):
    """Sequences step by step: the first elements of all, then the second elements of all that have one, and so on.

    Made by `pack_padded_sequence` and `pack_sequence`.

    Attributes
    ----------
    data
        The elements, shape (sum of lengths, *).
    batch_sizes
        How many sequences have each step, on the CPU.
    sorted_indices
        Which given sequence is at each place, or `None` if they were given from longest to shortest.
    unsorted_indices
        Where each given sequence is, or `None`.
    """

    def __new__(
        cls,
        data: Tensor,
        batch_sizes: Tensor | None = None,
        sorted_indices: Tensor | None = None,
        unsorted_indices: Tensor | None = None,
    ) -> "PackedSequence":
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        if batch_sizes is None:  # the former form, in which `data` was the pair of both
            data, batch_sizes = data
        elif batch_sizes.device.type != "cpu":
            raise ValueError(
                "batch_sizes should always be on CPU. Instances of PackedSequence should never be created manually. "
                "They should be instantiated by functions like pack_sequence and pack_padded_sequences in "
                "nn.utils.rnn. https://pytorch.org/docs/stable/nn.html#torch.nn.utils.rnn.pack_sequence"
            )
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def pin_memory(self) -> "PackedSequence":
        """The same sequences in page-locked memory."""
        indices = [None if index is None else index.pin_memory() for index in self[2:]]
        return type(self)(self.data.pin_memory(), self.batch_sizes, *indices)

    def to(self, *args: Any, **kwargs: Any) -> "PackedSequence":
        """The same sequences on another device or in another dtype, as `Tensor.to`; itself if nothing changes."""
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        options = {key: value for key, value in kwargs.items() if key not in ("device", "dtype", "copy")}
        indices = [None if index is None else index.to(data.device, **options) for index in self[2:]]
        return type(self)(data, self.batch_sizes, *indices)

    def cuda(self, *args: Any, **kwargs: Any) -> "PackedSequence":
        """The same sequences on a CUDA device."""
        probe = mt.tensor((), dtype=self.data.dtype, device=self.data.device).to(*args, **kwargs)
        return self.to(*args, **kwargs) if probe.is_cuda else self.to(*args, **{"device": "cuda", **kwargs})

    def cpu(self, *args: Any, **kwargs: Any) -> "PackedSequence":
        """The same sequences on the CPU."""
        probe = mt.tensor((), dtype=self.data.dtype, device=self.data.device).to(*args, **kwargs)
        return self.to(*args, **kwargs) if probe.device.type == "cpu" else self.to(*args, **{"device": "cpu", **kwargs})

    def double(self) -> "PackedSequence":
        """The same sequences in float64."""
        return self.to(dtype=mt.double)

    def float(self) -> "PackedSequence":
        """The same sequences in float32."""
        return self.to(dtype=mt.float)

    def half(self) -> "PackedSequence":
        """The same sequences in float16."""
        return self.to(dtype=mt.half)

    def long(self) -> "PackedSequence":
        """The same sequences in int64."""
        return self.to(dtype=mt.long)

    def int(self) -> "PackedSequence":
        """The same sequences in int32."""
        return self.to(dtype=mt.int)

    def short(self) -> "PackedSequence":
        """The same sequences in int16."""
        return self.to(dtype=mt.short)

    def char(self) -> "PackedSequence":
        """The same sequences in int8."""
        return self.to(dtype=mt.int8)

    def byte(self) -> "PackedSequence":
        """The same sequences in uint8."""
        return self.to(dtype=mt.uint8)

    @property
    def is_cuda(self) -> bool:
        """Whether the data is on a CUDA device."""
        return self.data.is_cuda

    def is_pinned(self) -> bool:
        """Whether the data is in page-locked memory."""
        return self.data.is_pinned()


def _device_methods_of_sequences(name: str, strict: bool, unsupported: list[Any]) -> None:
    def to_device(self: "PackedSequence", *args: Any, **kwargs: Any) -> "PackedSequence":
        probe = mt.tensor((), dtype=self.data.dtype, device=self.data.device).to(*args, **kwargs)
        return self.to(*args, **kwargs) if probe.device.type == name else self.to(*args, **{"device": name, **kwargs})

    to_device.__name__ = name
    to_device.__doc__ = f"The same sequences on a device of type '{name}'."
    on_device = property(lambda self: self.data.device.type == name, doc=f"Whether the data is on device '{name}'.")
    device_methods.install(PackedSequence, f"is_{name}", on_device, strict)
    device_methods.install(PackedSequence, name, to_device, strict)


device_methods.offer("packed sequence", _device_methods_of_sequences)


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The permutation that undoes another."""
    if permutation is None:
        return None
    output = mt.empty_like(permutation, memory_format=mt.contiguous_format)
    output.scatter_(0, permutation, mt.arange(0, permutation.numel(), device=permutation.device))
    return output


def pack_padded_sequence(
    input: Tensor, lengths: Tensor | list[int], batch_first: bool = False, enforce_sorted: bool = True
) -> "PackedSequence":
    """Padded sequences, packed.

    Parameters
    ----------
    input
        Shape (T, N, *).
    lengths
        The length of each sequence, on the CPU.
    batch_first
        Whether the input has the shape (N, T, *).
    enforce_sorted
        Whether the sequences must come from longest to shortest; otherwise they are sorted first.
    """
    if not isinstance(lengths, Tensor):
        lengths = mt.tensor(lengths, dtype=mt.int64)
    if enforce_sorted:
        sorted_indices = None
    else:
        lengths, sorted_indices = mt.sort(lengths, descending=True)
        sorted_indices = sorted_indices.to(input.device)
        input = input.index_select(0 if batch_first else 1, sorted_indices)
    data, batch_sizes = _pack_padded_sequence(input, lengths.to(mt.int64), batch_first)
    return PackedSequence(data, batch_sizes, sorted_indices, None)


def pad_packed_sequence(
    sequence: "PackedSequence",
    batch_first: bool = False,
    padding_value: float = 0.0,
    total_length: int | None = None,
) -> tuple[Tensor, Tensor]:
    """Packed sequences, padded, and their lengths.

    Parameters
    ----------
    sequence
        The packed sequences.
    batch_first
        Whether to return the shape (N, T, *) rather than (T, N, *).
    padding_value
        What to pad with.
    total_length
        The length to pad to; by default that of the longest sequence.
    """
    longest = sequence.batch_sizes.size(0)
    if total_length is None:
        total_length = longest
    elif total_length < longest:
        raise ValueError(
            "Expected total_length to be at least the length of the longest sequence in input, but got total_length="
            f"{total_length} and max sequence length being {longest}"
        )
    padded, lengths = _pad_packed_sequence(
        sequence.data, sequence.batch_sizes, batch_first, padding_value, total_length
    )
    unsorted_indices = sequence.unsorted_indices
    if unsorted_indices is None:
        return padded, lengths
    return padded.index_select(0 if batch_first else 1, unsorted_indices), lengths[unsorted_indices.cpu()]


def pad_sequence(
    sequences: Tensor | Sequence[Tensor],
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:
    """Sequences of shape (T, *), padded to the longest and stacked.

    Parameters
    ----------
    sequences
        The sequences.
    batch_first
        Whether to return the shape (N, T, *) rather than (T, N, *).
    padding_value
        What to pad with.
    padding_side
        ``"right"`` or ``"left"``.
    """
    if not isinstance(sequences, Iterable):
        raise RuntimeError(
            f"pad_sequence: Expected iterable for input sequences, but got arg of type: {type(sequences)}"
        )
    sequences = sequences.unbind(0) if isinstance(sequences, Tensor) else tuple(sequences)
    return mt.pad_sequence(sequences, batch_first, padding_value, padding_side)


def unpad_sequence(padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False) -> list[Tensor]:
    """The sequences, each of its length, of a padded tensor of shape (T, N, *) or, with `batch_first`, (N, T, *)."""
    if not batch_first:
        padded_sequences = padded_sequences.transpose(0, 1)
    steps = mt.arange(padded_sequences.shape[1], device=lengths.device)
    return [sequence[steps < length] for sequence, length in zip(padded_sequences, lengths, strict=True)]


def pack_sequence(sequences: list[Tensor], enforce_sorted: bool = True) -> "PackedSequence":
    """Sequences of shape (T, *), packed; from longest to shortest unless `enforce_sorted` is off."""
    lengths = mt.tensor([sequence.size(0) for sequence in sequences])
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: "PackedSequence") -> list[Tensor]:
    """The sequences of a `PackedSequence`, each of its length."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
