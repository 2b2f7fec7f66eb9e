"""Ready-made parametrizations: orthogonal matrices, weight normalization, spectral normalization."""

from enum import Enum, auto
from typing import Any

import mt_core as mt
from mt_core import Tensor
from mt_core.api._functions import _weight_norm

from .. import functional as F
from ..modules.conv import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from ..modules.module import Module
from . import parametrize

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]


def _is_orthogonal(Q: Tensor, eps: float | None = None) -> bool:
    """Whether the columns of a tall matrix are orthonormal."""
    columns = Q.size(-1)
    identity = mt.eye(columns, dtype=Q.dtype, device=Q.device)
    eps = 10.0 * columns * mt.finfo(Q.dtype).eps if eps is None else eps
    return bool(mt.allclose(Q.mH @ Q, identity, atol=eps))


def _make_orthogonal(A: Tensor) -> Tensor:
    """The orthogonal factor of a tall matrix, with signs that make the product with the triangular one positive."""
    reflectors, tau = mt.geqrf(A)
    Q = mt.linalg_householder_product(reflectors, tau)
    return Q * reflectors.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


class _OrthMaps(Enum):
    matrix_exp = auto()
    cayley = auto()
    householder = auto()


class _Orthogonal(Module):
    """Makes a matrix orthogonal (unitary if complex), its columns or rows being orthonormal if it is not square."""

    base: Tensor

    def __init__(self, weight: Tensor, orthogonal_map: _OrthMaps, *, use_trivialization: bool = True) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map == _OrthMaps.householder:
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X: Tensor) -> Tensor:
        rows, columns = X.size(-2), X.size(-1)
        transposed = rows < columns
        if transposed:
            X = X.mT
            rows, columns = columns, rows
        if self.orthogonal_map == _OrthMaps.householder:
            tau = 2.0 / (1.0 + (X.tril(diagonal=-1) ** 2).sum(dim=-2))
            Q = mt.linalg_householder_product(X, tau) * X.diagonal(dim1=-2, dim2=-1).to(mt.int32).unsqueeze(-2)
        else:
            Q = self._of_skew_symmetric(X.tril(), rows, columns)
        if hasattr(self, "base"):
            Q = self.base @ Q
        return Q.mT if transposed else Q

    def _of_skew_symmetric(self, X: Tensor, rows: int, columns: int) -> Tensor:
        """The image of a skew-symmetric matrix, given by its lower triangle, under the exponential or Cayley's map."""
        if rows != columns:
            # Columns of zeros make the matrix square.
            X = mt.cat([X, X.new_zeros(rows, rows - columns).expand(*X.shape[:-2], -1, -1)], dim=-1)
        A = X - X.mH
        if self.orthogonal_map == _OrthMaps.matrix_exp:
            Q = mt.matrix_exp(A)
        else:
            identity = mt.eye(rows, dtype=A.dtype, device=A.device)
            Q = mt.linalg_solve(mt.add(identity, A, alpha=-0.5), mt.add(identity, A, alpha=0.5))
        return Q[..., :columns] if rows != columns else Q

    @mt.no_grad()
    def right_inverse(self, Q: Tensor) -> Tensor:
        if Q.shape != self.shape:
            raise ValueError(
                f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of shape {Q.shape}."
            )
        transposed = Q.size(-2) < Q.size(-1)
        Q_tall = Q.mT if transposed else Q
        if hasattr(self, "base"):
            return self._rebased(Q_tall, transposed)
        if self.orthogonal_map != _OrthMaps.householder:
            raise NotImplementedError(
                "It is not possible to assign to the matrix exponential or the Cayley parametrizations when "
                "use_trivialization=False."
            )
        reflectors, tau = mt.geqrf(Q_tall)
        # Householder vectors below the diagonal; the signs of the triangular factor on it.
        reflectors.diagonal(dim1=-2, dim2=-1).sign_()
        reflectors.diagonal(dim1=-2, dim2=-1)[tau == 0.0] *= -1
        return reflectors.mT if transposed else reflectors

    def _rebased(self, Q_tall: Tensor, transposed: bool) -> Tensor:
        """Take a matrix, made orthogonal if it is not, as the base; the original becomes that of the identity."""
        rows, columns = Q_tall.size(-2), Q_tall.size(-1)
        wide = transposed
        if rows == columns:
            Q = Q_tall if _is_orthogonal(Q_tall) else _make_orthogonal(Q_tall)
        else:
            # The columns are completed to a square orthogonal matrix.
            rest = mt.randn(*Q_tall.shape[:-2], rows, rows - columns, dtype=Q_tall.dtype, device=Q_tall.device)
            Q = _make_orthogonal(mt.cat([Q_tall, rest], dim=-1))
            if _is_orthogonal(Q_tall):
                Q[..., :columns] = Q_tall
        self.base = Q
        original = mt.zeros_like(Q_tall.mT if wide else Q_tall)
        original.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
        return original


def orthogonal(
    module: Module, name: str = "weight", orthogonal_map: str | None = None, *, use_trivialization: bool = True
) -> Module:
    """Keep a matrix of a module orthogonal.

    Parameters
    ----------
    module
        Has the matrix.
    name
        Name of the parameter or buffer, which has 2 dimensions or more.
    orthogonal_map
        ``"matrix_exp"`` (the default of square matrices), ``"cayley"`` or ``"householder"`` (that of others).
    use_trivialization
        Whether to move about the matrix assigned last (Lezcano 2019), which permits to assign any.
    """
    weight = _tensor_of(module, name)
    if weight.ndim < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions.")
    if orthogonal_map is None:
        square = weight.size(-2) == weight.size(-1) or weight.is_complex()
        orthogonal_map = "matrix_exp" if square else "householder"
    if orthogonal_map not in _OrthMaps.__members__:
        raise ValueError(
            f'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {orthogonal_map}'
        )
    parametrization = _Orthogonal(weight, _OrthMaps[orthogonal_map], use_trivialization=use_trivialization)
    return parametrize.register_parametrization(module, name, parametrization, unsafe=True)


def _tensor_of(module: Module, name: str) -> Tensor:
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    return weight


class _WeightNorm(Module):
    """direction / its norm * magnitude."""

    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        return _weight_norm(weight_v, weight_g, self.dim)

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        return mt.norm_except_dim(weight, 2, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Learn the magnitude and the direction of a tensor apart (Salimans and Kingma 2016).

    Parameters
    ----------
    module
        Has the tensor.
    name
        Name of the parameter.
    dim
        The dimension each entry of which has a magnitude of its own; `None` for one magnitude.
    """
    parametrize.register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def convert_old_keys(
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """The former, hook-based weight normalization has other names."""
        old = f"{prefix}{name}_g", f"{prefix}{name}_v"
        if all(key in state_dict for key in old):
            for position, key in enumerate(old):
                state_dict[f"{prefix}parametrizations.{name}.original{position}"] = state_dict.pop(key)

    module._register_load_state_dict_pre_hook(convert_old_keys)
    return module


class _SpectralNorm(Module):
    """Divides a weight by its largest singular value, estimated by power iteration during training."""

    def __init__(self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        super().__init__()
        ndim = weight.ndim
        if dim >= ndim or dim < -ndim:
            raise IndexError(f"Dimension out of range (expected to be in range of [-{ndim}, {ndim - 1}] but got {dim})")
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.dim = dim if dim >= 0 else dim + ndim
        self.eps = eps
        if ndim > 1:
            self.n_power_iterations = n_power_iterations
            matrix = self._reshape_weight_to_matrix(weight)
            rows, columns = matrix.size()
            u, v = matrix.new_empty(rows).normal_(0, 1), matrix.new_empty(columns).normal_(0, 1)
            self.register_buffer("_u", F.normalize(u, dim=0, eps=self.eps))
            self.register_buffer("_v", F.normalize(v, dim=0, eps=self.eps))
            self._power_method(matrix, 15)

    def _reshape_weight_to_matrix(self, weight: Tensor) -> Tensor:
        if self.dim != 0:
            weight = weight.permute(self.dim, *(dim for dim in range(weight.dim()) if dim != self.dim))
        return weight.flatten(1)

    @mt.no_grad()
    def _power_method(self, weight_mat: Tensor, n_power_iterations: int) -> None:
        for _ in range(n_power_iterations):
            # In place, so that copies of the module in other threads, which share the buffers, see the new values.
            self._u = F.normalize(mt.mv(weight_mat, self._v), dim=0, eps=self.eps, out=self._u)
            self._v = F.normalize(mt.mv(weight_mat.H, self._u), dim=0, eps=self.eps, out=self._v)

    def forward(self, weight: Tensor) -> Tensor:
        if weight.ndim == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = self._reshape_weight_to_matrix(weight)
        if self.training:
            self._power_method(matrix, self.n_power_iterations)
        # Copies, as the buffers may change again before the gradient is computed.
        u = self._u.clone(memory_format=mt.contiguous_format)
        v = self._v.clone(memory_format=mt.contiguous_format)
        return weight / mt.vdot(u, mt.mv(matrix, v))

    def right_inverse(self, value: Tensor) -> Tensor:
        return value  # it may be too large; only the next training step can tell


def spectral_norm(
    module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Module:
    """Keep the largest singular value of a weight at 1 (Miyato et al. 2018).

    Parameters
    ----------
    module
        Has the weight.
    name
        Name of the parameter or buffer.
    n_power_iterations
        Number of power iterations of each training step.
    eps
        What norms are at least taken to be.
    dim
        The dimension of outputs; by default 0, and 1 for transposed convolutions.
    """
    weight = _tensor_of(module, name)
    if dim is None:
        dim = 1 if is_transposed_convolution(module) else 0
    return parametrize.register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, dim, eps))


def is_transposed_convolution(module: Module) -> bool:
    """Whether the outputs of a module are the second dimension of its weight."""
    return isinstance(module, (ConvTranspose1d, ConvTranspose2d, ConvTranspose3d))
