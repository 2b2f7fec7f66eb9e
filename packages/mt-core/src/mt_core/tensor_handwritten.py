"""The members of a tensor that are no operator's: arguments that a schema cannot say, attributes of matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import functional, functional_removed
from .api import _functions as ops
from .construct import tensor
from .deprecation import warn_once
from .factories import check_flag
from .functional_linalg import lu, norm
from .tensor import Tensor

__all__ = ["HandwrittenMembers"]


class HandwrittenMembers:
    """Mixed into Tensor, before the generated methods."""

    __slots__ = ()

    # What Python 2 called these.

    def __div__(self: Any, other: Any) -> Any:
        return self.div(other)

    def __idiv__(self: Any, other: Any) -> Any:
        return self.div_(other)

    def __rdiv__(self: Any, other: Any) -> Any:
        return self.__rtruediv__(other)

    def __long__(self: Any) -> int:
        return int(self)

    def __nonzero__(self: Any) -> bool:
        return bool(self)

    def const_data_ptr(self: Any) -> int:
        """`data_ptr` for those who only read: no memory is copied here before it is written to, so they are one."""
        return self.data_ptr()  # type: ignore[no-any-return]

    def split(self: Any, split_size: int | Sequence[int], dim: int = 0) -> Any:
        """Views of consecutive pieces of one size, or of the given sizes."""
        return functional.split(self, split_size, dim)

    def nonzero(self: Any, *, as_tuple: bool = False) -> Any:
        """Indices of nonzero elements: (count, ndim), or with `as_tuple` one 1-d tensor per dimension."""
        return functional.nonzero(self, as_tuple=as_tuple)

    def unique(
        self: Any,
        sorted: bool = True,
        return_inverse: bool = False,
        return_counts: bool = False,
        dim: int | None = None,
    ) -> Any:
        """The distinct elements in order."""
        return functional.unique(self, sorted, return_inverse, return_counts, dim)

    def unique_consecutive(
        self: Any, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
    ) -> Any:
        """Runs of equal elements collapsed to one."""
        return functional.unique_consecutive(self, return_inverse, return_counts, dim)

    def norm(self: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
        """A norm over all elements or some dimensions, as ``torch.norm``."""
        return norm(self, p, dim, keepdim, dtype=dtype)

    def lu(self: Any, pivot: bool = True, get_infos: bool = False) -> Any:
        """Packed LU factors and pivots of matrices, as ``torch.lu``."""
        return tuple(lu(self, pivot, get_infos))

    def solve(self: Any, other: Any) -> Any:
        """Removed from PyTorch: raises RuntimeError, which names what takes its place."""
        return functional_removed.solve(self, other)

    def lstsq(self: Any, other: Any) -> Any:
        """Removed from PyTorch: raises RuntimeError, which names what takes its place."""
        return functional_removed.lstsq(self, other)

    def symeig(self: Any, eigenvectors: bool = False) -> Any:
        """Removed from PyTorch: raises RuntimeError, which names what takes its place."""
        return functional_removed.symeig(self, eigenvectors=eigenvectors)

    def eig(self: Any, eigenvectors: bool = False) -> Any:
        """Removed from PyTorch: raises RuntimeError, which names what takes its place."""
        return functional_removed.eig(self, eigenvectors=eigenvectors)

    def new_tensor(self: Any, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Any:
        """A new tensor with a copy of the data, in the dtype and on the device of this one unless others are given."""
        check_flag("new_tensor", "requires_grad", requires_grad)
        return tensor(
            data,
            dtype=self.dtype if dtype is None else dtype,
            device=self.device if device is None else device,
            requires_grad=requires_grad,
        )

    @property
    def real(self: Any) -> Any:
        """The real parts: a view of a complex tensor, a real tensor itself."""
        return ops.real(self)

    @real.setter
    def real(self: Any, value: Any) -> None:
        ops.real(self).copy_(value) if isinstance(value, Tensor) else ops.real(self).fill_(value)

    @property
    def imag(self: Any) -> Any:
        """The imaginary parts of a complex tensor: a view.

        Raises
        ------
        RuntimeError
            For real tensors.
        """
        return ops.imag(self)

    @imag.setter
    def imag(self: Any, value: Any) -> None:
        ops.imag(self).copy_(value) if isinstance(value, Tensor) else ops.imag(self).fill_(value)

    @property
    def T(self: Any) -> Any:
        """A view with all dimensions reversed."""
        if not self.dim():
            warn_once("Tensor.T is deprecated on 0-D tensors. This function is the identity in these cases.")
        elif self.dim() != 2:
            warn_once(
                "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated and it "
                "will throw an error in a future release. Consider `x.mT` to transpose batches of matrices or "
                "`x.permute(*torch.arange(x.ndim - 1, -1, -1))` to reverse the dimensions of a tensor."
            )
        return self.permute(tuple(reversed(range(self.dim()))))

    @property
    def mT(self: Any) -> Any:
        """A view with the last two dimensions exchanged."""
        if not self.dim():
            warn_once("Tensor.mT is deprecated on 0-D tensors. This function is the identity in these cases.")
            return self
        if self.dim() < 2:
            raise RuntimeError(
                f"tensor.mT is only supported on matrices or batches of matrices. Got {self.dim()}-D tensor."
            )
        return self.transpose(-2, -1)

    @property
    def H(self: Any) -> Any:
        """The conjugate transpose of a matrix."""
        if self.dim() not in (0, 2):
            batches = " For batches of matrices, consider using tensor.mH" if self.dim() > 2 else ""
            raise RuntimeError(
                f"tensor.H is only supported on matrices (2-D tensors). Got {self.dim()}-D tensor.{batches}"
            )
        if self.dim():
            return self.adjoint()
        warn_once("Tensor.H is deprecated on 0-D tensors. Consider using x.conj().")
        return self.conj()

    @property
    def mH(self: Any) -> Any:
        """The conjugate transpose of the last two dimensions."""
        if not self.dim():
            warn_once("Tensor.mH is deprecated on 0-D tensors. Consider using x.conj().")
            return self.conj()
        if self.dim() < 2:
            raise RuntimeError(
                f"tensor.mH is only supported on matrices or batches of matrices. Got {self.dim()}-D tensor."
            )
        return self.adjoint()
