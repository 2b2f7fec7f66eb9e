"""Recurrent networks: over whole sequences (`RNN`, `LSTM`, `GRU`) and for one step (the cells)."""

import math
import numbers
import warnings
from typing import Any

import mt_core as mt
from mt_core import Tensor

from .. import init
from ..parameter import Parameter
from ..utils.rnn import PackedSequence
from .module import Module

__all__ = ["GRU", "GRUCell", "LSTM", "LSTMCell", "RNN", "RNNBase", "RNNCell", "RNNCellBase"]

#: How many gates each kind of network has, whose weights lie in one.
_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


def apply_permutation(tensor: Tensor, permutation: Tensor, dim: int = 1) -> Tensor:
    """A tensor whose entries along `dim` are reordered."""
    return tensor.index_select(dim, permutation)


def _permuted(hidden: Tensor, permutation: Tensor | None) -> Tensor:
    return hidden if permutation is None else apply_permutation(hidden, permutation)


class RNNBase(Module):
    """What recurrent networks share. T is the length of a sequence, N the batch size, D the number of directions.

    Parameters
    ----------
    mode
        ``"LSTM"``, ``"GRU"``, ``"RNN_TANH"`` or ``"RNN_RELU"``.
    input_size
        Size of an input.
    hidden_size
        Size H of a hidden state.
    num_layers
        Number of layers, each of which takes the outputs of the one before it.
    bias
        Whether there are biases.
    batch_first
        Whether inputs and outputs have the shape (N, T, *) rather than (T, N, *). States are not affected.
    dropout
        Probability of an output between two layers to be zeroed in training.
    bidirectional
        Whether each layer also runs backwards; its outputs are joined to the others.
    proj_size
        Size to which an LSTM's hidden states are projected; 0 for no projection.

    Attributes
    ----------
    weight_ih_l[k]
        Input weights of the k-th layer, shape (gates * H, size of its input).
    weight_hh_l[k]
        Hidden weights of the k-th layer, shape (gates * H, size of a hidden state).
    bias_ih_l[k]
        Shape (gates * H,).
    bias_hh_l[k]
        Shape (gates * H,).
    weight_hr_l[k]
        Projection, shape (proj_size, H). Those of the backward direction end with ``_reverse``.
    """

    __constants__ = [
        "mode",
        "input_size",
        "hidden_size",
        "num_layers",
        "bias",
        "batch_first",
        "dropout",
        "bidirectional",
        "proj_size",
    ]
    __jit_unused_properties__ = ["all_weights"]
    mode: str
    input_size: int
    hidden_size: int
    num_layers: int
    bias: bool
    batch_first: bool
    dropout: float
    bidirectional: bool
    proj_size: int

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: mt.device | None = None,
        dtype: mt.dtype | None = None,
    ) -> None:
        super().__init__()
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        self._check_arguments(dropout)
        self._flat_weights_names: list[str] = []
        self._all_weights: list[list[str]] = []
        for layer in range(num_layers):
            for suffix in ("", "_reverse") if bidirectional else ("",):
                self._register_layer(layer, suffix, {"device": device, "dtype": dtype})
        self.reset_parameters()

    def _check_arguments(self, dropout: Any) -> None:
        is_number = isinstance(dropout, numbers.Number) and not isinstance(dropout, bool)
        if not is_number or not 0 <= dropout <= 1:
            raise ValueError(
                "dropout should be a number in range [0, 1] representing the probability of an element being zeroed"
            )
        if dropout > 0 and self.num_layers == 1:
            warnings.warn(
                "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects "
                "num_layers "
                f"greater than 1, but got dropout={dropout} and num_layers={self.num_layers}",
                stacklevel=4,
            )
        _check_type("input_size", self.input_size, int)
        _check_type("hidden_size", self.hidden_size, int)
        _check_type("bias", self.bias, bool)
        _check_type("batch_first", self.batch_first, bool)
        for name in ("input_size", "hidden_size", "num_layers"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} must be greater than zero")
        if self.proj_size < 0:
            raise ValueError("proj_size should be a positive integer or zero to disable projections")
        if self.proj_size >= self.hidden_size:
            raise ValueError("proj_size has to be smaller than hidden_size")
        if self.mode not in _GATES:
            raise ValueError("Unrecognized RNN mode: " + self.mode)

    def _register_layer(self, layer: int, suffix: str, factory_kwargs: dict[str, Any]) -> None:
        """Make the parameters of one direction of one layer."""
        hidden = self.proj_size or self.hidden_size
        directions = 2 if self.bidirectional else 1
        gates = _GATES[self.mode] * self.hidden_size
        shapes: dict[str, tuple[int, ...]] = {
            "weight_ih": (gates, self.input_size if layer == 0 else hidden * directions),
            "weight_hh": (gates, hidden),
        }
        if self.bias:
            shapes.update(bias_ih=(gates,), bias_hh=(gates,))
        if self.proj_size > 0:
            shapes["weight_hr"] = (self.proj_size, self.hidden_size)
        names = [f"{kind}_l{layer}{suffix}" for kind in shapes]
        for name, shape in zip(names, shapes.values(), strict=True):
            setattr(self, name, Parameter(mt.empty(shape, **factory_kwargs)))
        self._flat_weights_names.extend(names)
        self._all_weights.append(names)

    @property
    def _flat_weights(self) -> list[Tensor]:
        """All weights in the order of the operators."""
        return [getattr(self, name) for name in self._flat_weights_names]

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The weights of each direction of each layer."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def flatten_parameters(self) -> None:
        """Nothing to do: no backend here wants the weights to lie together in memory."""

    def reset_parameters(self) -> None:
        """Draw new weights, uniformly within 1 / sqrt(H)."""
        bound = 1.0 / math.sqrt(self.hidden_size)
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    # Checks

    def check_input(self, input: Tensor, batch_sizes: Tensor | None) -> None:
        """Raise unless the input has the right dtype, dimensions and size."""
        dtype = self._flat_weights[0].dtype
        if input.dtype != dtype:
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({dtype}). Convert input: "
                f"input.to({dtype}), or convert model: model.to({input.dtype})"
            )
        expected_dim = 2 if batch_sizes is not None else 3
        if input.dim() != expected_dim:
            raise RuntimeError(f"input must have {expected_dim} dimensions, got {input.dim()}")
        if self.input_size != input.size(-1):
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.size(-1)}"
            )

    def get_expected_hidden_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        """The shape (D * layers, N, size) of hidden states for an input."""
        return self._state_shape(input, batch_sizes, self.proj_size or self.hidden_size)

    def _state_shape(self, input: Tensor, batch_sizes: Tensor | None, size: int) -> tuple[int, int, int]:
        if batch_sizes is not None:
            batch = int(batch_sizes[0])
        else:
            batch = input.size(0) if self.batch_first else input.size(1)
        return self.num_layers * (2 if self.bidirectional else 1), batch, size

    def check_hidden_size(
        self,
        hx: Tensor,
        expected_hidden_size: tuple[int, int, int],
        msg: str = "Expected hidden size {}, got {}",
    ) -> None:
        """Raise unless a state has the expected shape."""
        if hx.size() != expected_hidden_size:
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.size())))

    def check_forward_args(self, input: Tensor, hidden: Tensor, batch_sizes: Tensor | None) -> None:
        """Raise unless the input and the state fit the network and each other."""
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden, self.get_expected_hidden_size(input, batch_sizes))

    def permute_hidden(self, hx: Tensor, permutation: Tensor | None) -> Tensor:
        """A state whose samples are reordered."""
        return _permuted(hx, permutation)

    # Running

    def forward(self, input: Any, hx: Any = None) -> tuple[Any, Any]:
        """Run over sequences.

        Parameters
        ----------
        input
            Shape (T, N, input_size), (T, input_size) for a single sequence, or a `PackedSequence`.
        hx
            The initial state, zeros by default: shape (D * layers, N, H), without N for a single sequence. For an
            `LSTM` a pair of hidden and cell states.

        Returns
        -------
        tuple
            The outputs of the last layer, shape (T, N, D * H), and the final state of each layer.
        """
        if isinstance(input, PackedSequence):
            return self._forward_packed(input, hx)
        batched = self._check_dimensions(input, hx)
        if not batched:
            batch_dim = 0 if self.batch_first else 1
            input = input.unsqueeze(batch_dim)
            hx = None if hx is None else self._map_state(lambda state: state.unsqueeze(1), hx)
        hx = self._zero_state(input, None) if hx is None else hx
        self.check_forward_args(input, hx, None)
        output, hidden = self._run(input, None, hx)
        if not batched:
            output = output.squeeze(batch_dim)
            hidden = self._map_state(lambda state: state.squeeze(1), hidden)
        return output, hidden

    def _forward_packed(self, packed: PackedSequence, hx: Any) -> tuple[PackedSequence, Any]:
        data, batch_sizes, sorted_indices, unsorted_indices = packed
        if hx is None:
            hx = self._zero_state(data, batch_sizes)
        else:
            hx = self.permute_hidden(hx, sorted_indices)
        self.check_forward_args(data, hx, batch_sizes)
        output, hidden = self._run(data, batch_sizes, hx)
        return (
            PackedSequence(output, batch_sizes, sorted_indices, unsorted_indices),
            self.permute_hidden(hidden, unsorted_indices),
        )

    def _run(self, input: Tensor, batch_sizes: Tensor | None, hx: Any) -> tuple[Tensor, Any]:
        options = (self.bias, self.num_layers, self.dropout, self.training, self.bidirectional)
        operator = getattr(mt, self.mode.lower())
        if batch_sizes is None:
            output, *hidden = operator(input, hx, self._flat_weights, *options, self.batch_first)
        else:
            output, *hidden = operator(input, batch_sizes, hx, self._flat_weights, *options)
        return output, tuple(hidden) if len(hidden) > 1 else hidden[0]

    def _zero_state(self, input: Tensor, batch_sizes: Tensor | None) -> Any:
        shape = self.get_expected_hidden_size(input, batch_sizes)
        return mt.zeros(shape, dtype=input.dtype, device=input.device)

    @staticmethod
    def _map_state(function: Any, hx: Any) -> Any:
        """A function of each tensor of a state."""
        return tuple(map(function, hx)) if isinstance(hx, tuple) else function(hx)

    def _check_dimensions(self, input: Tensor, hx: Any) -> bool:
        """Whether the input is a batch, after checking that the state has as many dimensions."""
        if input.dim() not in (2, 3):
            raise ValueError(f"{self._get_name()}: Expected input to be 2D or 3D, got {input.dim()}D instead")
        batched = input.dim() == 3
        if hx is not None:
            self._check_state_dimensions(hx, input.dim(), "batched" if batched else "unbatched")
        return batched

    def _check_state_dimensions(self, hx: Tensor, dims: int, kind: str) -> None:
        if hx.dim() != dims:
            raise RuntimeError(f"For {kind} {dims}-D input, hx should also be {dims}-D but got {hx.dim()}-D tensor")

    # Representation and pickling

    def extra_repr(self) -> str:
        parts = [f"{self.input_size}, {self.hidden_size}"]
        if self.proj_size != 0:
            parts.append(f"proj_size={self.proj_size}")
        if self.num_layers != 1:
            parts.append(f"num_layers={self.num_layers}")
        if self.bias is not True:
            parts.append(f"bias={self.bias}")
        if self.batch_first is not False:
            parts.append(f"batch_first={self.batch_first}")
        if self.dropout != 0:
            parts.append(f"dropout={self.dropout}")
        if self.bidirectional is not False:
            parts.append(f"bidirectional={self.bidirectional}")
        return ", ".join(parts)

    def __getstate__(self) -> dict[str, Any]:
        # PyTorch keeps the weights in a list too, and expects it in pickles.
        return {**super().__getstate__(), "_flat_weights": self._flat_weights}

    def __setstate__(self, state: dict[str, Any]) -> None:
        derived = ("_flat_weights", "_flat_weight_refs")
        super().__setstate__({name: value for name, value in state.items() if name not in derived})
        self.__dict__.setdefault("proj_size", 0)  # absent from old pickles


def _check_type(name: str, value: Any, expected: type) -> None:
    if not isinstance(value, expected):
        raise TypeError(f"{name} should be of type {expected.__name__}, got: {type(value).__name__}")


class RNN(RNNBase):
    """The network of Elman 1990: h' = tanh(W_ih x + b_ih + W_hh h + b_hh). See `RNNBase` for the other arguments.

    Parameters
    ----------
    nonlinearity
        ``"tanh"`` or ``"relu"``.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        if len(args) > 3:
            self.nonlinearity = args[3]
            args = args[:3] + args[4:]
        else:
            self.nonlinearity = kwargs.pop("nonlinearity", "tanh")
        modes = {"tanh": "RNN_TANH", "relu": "RNN_RELU"}
        if self.nonlinearity not in modes:
            raise ValueError(f"Unknown nonlinearity '{self.nonlinearity}'. Select from 'tanh' or 'relu'.")
        super().__init__(modes[self.nonlinearity], *args, **kwargs)

    def _check_dimensions(self, input: Tensor, hx: Any) -> bool:
        if input.dim() not in (2, 3):
            raise ValueError(f"RNN: Expected input to be 2D or 3D, got {input.dim()}D tensor instead")
        return super()._check_dimensions(input, hx)


class LSTM(RNNBase):
    """Long short-term memory (Hochreiter and Schmidhuber 1997); its state is a pair of hidden and cell states.

    See `RNNBase` for the arguments.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)

    def get_expected_cell_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        """The shape (D * layers, N, H) of cell states for an input."""
        return self._state_shape(input, batch_sizes, self.hidden_size)

    def check_forward_args(self, input: Tensor, hidden: tuple[Tensor, Tensor], batch_sizes: Tensor | None) -> None:
        self.check_input(input, batch_sizes)
        self.check_hidden_size(
            hidden[0], self.get_expected_hidden_size(input, batch_sizes), "Expected hidden[0] size {}, got {}"
        )
        self.check_hidden_size(
            hidden[1], self.get_expected_cell_size(input, batch_sizes), "Expected hidden[1] size {}, got {}"
        )

    def permute_hidden(self, hx: tuple[Tensor, Tensor], permutation: Tensor | None) -> tuple[Tensor, Tensor]:
        return _permuted(hx[0], permutation), _permuted(hx[1], permutation)

    def _zero_state(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[Tensor, Tensor]:
        shapes = self.get_expected_hidden_size(input, batch_sizes), self.get_expected_cell_size(input, batch_sizes)
        hidden, cell = (mt.zeros(shape, dtype=input.dtype, device=input.device) for shape in shapes)
        return hidden, cell

    def _check_state_dimensions(self, hx: tuple[Tensor, Tensor], dims: int, kind: str) -> None:
        if hx[0].dim() != dims or hx[1].dim() != dims:
            raise RuntimeError(
                f"For {kind} {dims}-D input, hx and cx should also be {dims}-D but got ({hx[0].dim()}-D, "
                f"{hx[1].dim()}-D) tensors"
            )


class GRU(RNNBase):
    """Gated recurrent units (Cho et al. 2014). See `RNNBase` for the arguments."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        super().__init__("GRU", *args, **kwargs)


class RNNCellBase(Module):
    """What the cells share.

    Parameters
    ----------
    input_size
        Size of an input.
    hidden_size
        Size H of a hidden state.
    bias
        Whether there are biases.
    num_chunks
        Number of gates.

    Attributes
    ----------
    weight_ih
        Shape (gates * H, input_size).
    weight_hh
        Shape (gates * H, H).
    bias_ih
        Shape (gates * H,).
    bias_hh
        Shape (gates * H,).
    """

    __constants__ = ["input_size", "hidden_size", "bias"]
    input_size: int
    hidden_size: int
    bias: bool

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool,
        num_chunks: int,
        device: mt.device | None = None,
        dtype: mt.dtype | None = None,
    ) -> None:
        factory_kwargs: dict[str, Any] = {"device": device, "dtype": dtype}
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        self.weight_ih = Parameter(mt.empty((num_chunks * hidden_size, input_size), **factory_kwargs))
        self.weight_hh = Parameter(mt.empty((num_chunks * hidden_size, hidden_size), **factory_kwargs))
        for name in ("bias_ih", "bias_hh"):
            empty = Parameter(mt.empty(num_chunks * hidden_size, **factory_kwargs)) if bias else None
            self.register_parameter(name, empty)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new weights, uniformly within 1 / sqrt(H)."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        if self.bias is not True:
            text += f", bias={self.bias}"
        nonlinearity = self.__dict__.get("nonlinearity", "tanh")
        return text if nonlinearity == "tanh" else f"{text}, nonlinearity={nonlinearity}"

    def _check_dim(self, tensor: Tensor, name: str) -> None:
        if tensor.dim() not in (1, 2):
            raise ValueError(f"{self._get_name()}: Expected {name} to be 1D or 2D, got {tensor.dim()}D instead")

    def _zero_state(self, input: Tensor) -> Tensor:
        return mt.zeros(input.size(0), self.hidden_size, dtype=input.dtype, device=input.device)

    def _weights(self) -> tuple[Tensor, Tensor, Tensor | None, Tensor | None]:
        return self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh

    def _step(self, operator: Any, input: Tensor, hx: Tensor | None) -> Tensor:
        """One step of a cell whose state is one tensor, of a batch or of a single sample."""
        self._check_dim(input, "input")
        if hx is not None:
            self._check_dim(hx, "hidden")
        batched = input.dim() == 2
        if not batched:
            input = input.unsqueeze(0)
        if hx is None:
            hx = self._zero_state(input)
        elif not batched:
            hx = hx.unsqueeze(0)
        result = operator(input, hx, *self._weights())
        return result if batched else result.squeeze(0)


class RNNCell(RNNCellBase):
    """One step of an `RNN`: (N, input_size) and the state (N, H), zeros by default, to the next state (N, H)."""

    __constants__ = ["input_size", "hidden_size", "bias", "nonlinearity"]
    nonlinearity: str

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: mt.device | None = None,
        dtype: mt.dtype | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        operator = mt.rnn_tanh_cell if self.nonlinearity == "tanh" else mt.rnn_relu_cell
        return self._step(operator, input, hx)


class LSTMCell(RNNCellBase):
    """One step of an `LSTM`: (N, input_size) and the pair of states (N, H), zeros by default, to the next pair."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: mt.device | None = None,
        dtype: mt.dtype | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        self._check_dim(input, "input")
        if hx is not None:
            self._check_dim(hx[0], "hx[0]")
            self._check_dim(hx[1], "hx[1]")
        batched = input.dim() == 2
        if not batched:
            input = input.unsqueeze(0)
        if hx is None:
            zeros = self._zero_state(input)
            hx = (zeros, zeros)
        elif not batched:
            hx = (hx[0].unsqueeze(0), hx[1].unsqueeze(0))
        hidden, cell = mt.lstm_cell(input, hx, *self._weights())
        return (hidden, cell) if batched else (hidden.squeeze(0), cell.squeeze(0))


class GRUCell(RNNCellBase):
    """One step of a `GRU`: (N, input_size) and the state (N, H), zeros by default, to the next state (N, H)."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: mt.device | None = None,
        dtype: mt.dtype | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        return self._step(mt.gru_cell, input, hx)
