"""``torch.lobpcg``: a few eigenpairs of large symmetric matrices.

The iteration is that of Knyazev, "Toward the optimal preconditioned eigensolver: LOBPCG" (2001); the method "ortho"
keeps its basis orthonormal and chooses the next one as Duersch, Shao, Yang, Gu (2018) do, by the SVQB procedure of
Stathopoulos and Wu (2002).
"""

from collections.abc import Callable
from typing import Any

import mt_core as torch
from mt_autograd.function import Function
from mt_core import Tensor
from mt_core.checks.linalg import refuse_no_convergence
from mt_core.overriding import overridable_by_name

__all__ = ["LOBPCG", "lobpcg"]

#: Iterations where no number is given.
_NITER = 1000
_METHODS = ("basic", "ortho")
#: What is taken for the relative precision of a dtype.
_PRECISION = {torch.float32: 1.2e-7, torch.float64: 2.23e-16}


@overridable_by_name
def lobpcg(
    A: Tensor,
    k: int | None = None,
    B: Tensor | None = None,
    X: Tensor | None = None,
    n: int | None = None,
    iK: Tensor | None = None,
    niter: int | None = None,
    tol: float | None = None,
    largest: bool | None = None,
    method: str | None = None,
    tracker: Callable[["LOBPCG"], Any] | None = None,
    ortho_iparams: dict[str, int] | None = None,
    ortho_fparams: dict[str, float] | None = None,
    ortho_bparams: dict[str, bool] | None = None,
) -> tuple[Tensor, Tensor]:
    """The k largest (or smallest) eigenvalues of A x = lambda B x, and vectors.

    A (*, m, m) symmetric, B the same and positive definite, or None for the identity; X (*, m, n) the first guess, n
    random columns where it is None; iK (*, m, m) a preconditioner -> values (*, k) and B-orthonormal vectors (*, m, k).

    At most `niter` steps are made (any number where it is negative), until each residual is below `tol`, relative to
    the matrices. `tracker` is called after each step with the `LOBPCG` that holds its state, and stops it by setting
    ``bvars["force_stop"]``. The gradient of A is that of a symmetric matrix; there is none where B is given.

    Raises
    ------
    AssertionError
        Where A is not square, or B or X is of another shape.
    RuntimeError
        Where A is neither float32 nor float64.
    ValueError
        Where A has fewer than 3 n rows, or `method` is unknown.
    """
    settings = (k, B, X, n, iK, niter, tol, largest, method, tracker, ortho_iparams, ortho_fparams, ortho_bparams)
    if A.requires_grad or B is not None and B.requires_grad:
        return LOBPCGAutogradFunction.apply((A + A.mT) / 2, B, settings)  # type: ignore[no-any-return]
    return _solved(A, *settings)


class LOBPCGAutogradFunction(Function):
    """The eigenpairs of A, differentiable with respect to it."""

    @staticmethod
    def forward(ctx: Any, A: Tensor, B: Tensor | None, settings: tuple[Any, ...]) -> tuple[Tensor, Tensor]:
        k, _, *rest = settings
        values, vectors = _solved(A.detach(), k, None if B is None else B.detach(), *rest)
        ctx.save_for_backward(A, B, values, vectors)
        return values, vectors

    @staticmethod
    def backward(ctx: Any, grad_values: Tensor, grad_vectors: Tensor) -> tuple[Tensor, None, None]:
        A, B, values, vectors = ctx.saved_tensors
        if B is not None:
            raise ValueError(
                "lobpcg.backward does not support backward with B != I: give no B, or an A that needs no gradient"
            )
        return _slope(grad_values, grad_vectors, A, values, vectors), None, None


def _slope(grad_values: Tensor, grad_vectors: Tensor, A: Tensor, values: Tensor, vectors: Tensor) -> Tensor:
    """The gradient of A: within the span of the vectors that of all eigenpairs, and what turns them out of it."""
    m, k = vectors.shape[-2:]
    turned = vectors.mT @ grad_vectors
    within = turned * _inverse_gaps(values, values) + torch.diag_embed(grad_values)
    gradient = vectors @ within @ vectors.mT
    if k < m:
        gradient = gradient + _out_of_span(grad_vectors, A, values, vectors) @ vectors.mT
    return (gradient + gradient.mT) / 2


def _out_of_span(grad_vectors: Tensor, A: Tensor, values: Tensor, vectors: Tensor) -> Tensor:
    """x (*, m, k) orthogonal to the vectors with (value - A) x = gradient there, for each pair.

    Any basis of what is orthogonal to the vectors gives the same, so that it counts as constant but for its projection.
    """
    k = vectors.shape[-1]
    constant = torch.linalg_qr(vectors.detach(), mode="complete")[0][..., k:]
    basis = constant - vectors @ (vectors.mT @ constant)
    shifts = values.unsqueeze(-1).unsqueeze(-1) * (basis.mT @ basis).unsqueeze(-3)
    systems = shifts - (basis.mT @ A @ basis).unsqueeze(-3)
    right = (basis.mT @ grad_vectors).mT.unsqueeze(-1)
    return basis @ torch.linalg_solve(systems, right).squeeze(-1).mT


def _inverse_gaps(values: Tensor, others: Tensor) -> Tensor:
    """values (*, k), others (*, l) -> (*, l, k), 1 / (values - others); 0 where they are equal."""
    gaps = values.unsqueeze(-2) - others.unsqueeze(-1)
    return torch.where(gaps == 0, torch.zeros_like(gaps), 1 / torch.where(gaps == 0, torch.ones_like(gaps), gaps))


def _check(A: Tensor, B: Tensor | None, n: int) -> None:
    """Refuse matrices that are not square or of different shapes, and those that are too small."""
    m = A.shape[-1]
    if A.dtype not in _PRECISION:
        raise RuntimeError(f"lobpcg: expected a matrix of float32 or float64, but got {A.dtype}")
    assert A.shape[-2] == m, f"A must be square, got shape {A.shape}"
    assert B is None or A.shape == B.shape, f"A and B must have same shape, got {A.shape} vs {B.shape}"  # type: ignore[union-attr]
    if m < 3 * n:
        raise ValueError(
            f"LOBPCG algorithm is not applicable when the number of A rows (={m}) is smaller than 3 x the number of "
            f"requested eigenpairs (={n})"
        )


def _solved(
    A: Tensor, k: int | None, B: Tensor | None, X: Tensor | None, n: int | None, iK: Tensor | None, niter: int | None,
    tol: float | None, largest: bool | None, method: str | None, tracker: Any, ortho_iparams: dict[str, int] | None,
    ortho_fparams: dict[str, float] | None, ortho_bparams: dict[str, bool] | None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    if method not in (None, *_METHODS):
        raise ValueError(f"lobpcg: unknown method {method!r}, known are {', '.join(_METHODS)}")
    wanted = (1 if X is None else X.shape[-1]) if k is None else k
    columns = X.shape[-1] if X is not None else wanted if n is None else n
    _check(A, B, columns)
    m = A.shape[-1]
    guess = torch.randn((*A.shape[:-1], columns), dtype=A.dtype, device=A.device) if X is None else X
    assert tuple(guess.shape) == (*A.shape[:-1], columns), (
        f"X shape mismatch: got {guess.shape}, expected {(*A.shape[:-1], columns)}"
    )
    tolerance = _PRECISION[A.dtype] ** 0.5 if tol is None else tol
    iparams = {"m": m, "n": columns, "k": wanted, "niter": _NITER if niter is None else niter}
    fparams, bparams = {"tol": tolerance}, {"largest": True if largest is None else largest}
    if method != "basic":
        iparams |= {"ortho_i_max": 3, "ortho_j_max": 3, **(ortho_iparams or {})}
        orthonormal = dict.fromkeys(("ortho_tol", "ortho_tol_drop", "ortho_tol_replace"), tolerance)
        fparams |= {**orthonormal, **(ortho_fparams or {})}
        bparams |= {"ortho_use_drop": False, **(ortho_bparams or {})}

    def solve(place: tuple[int, ...]) -> tuple[Tensor, Tensor]:
        matrix, other, start, preconditioner = [t if t is None or t.dim() == 2 else t[place] for t in (A, B, guess, iK)]
        assert matrix is not None and start is not None
        worker = LOBPCG(
            matrix,
            other,
            start,
            preconditioner,
            dict(iparams),
            dict(fparams),
            dict(bparams),
            method or "ortho",
            tracker,
        )
        worker.run()
        return worker.E[:wanted], worker.X[:, :wanted]

    batch = tuple(A.shape[:-2])
    if not batch:
        return solve(())
    found = [solve(place) for place in _places(batch)]
    values, vectors = (torch.stack(list(parts)) for parts in zip(*found, strict=True))
    return values.reshape((*batch, wanted)), vectors.reshape((*batch, m, wanted))


def _places(batch: tuple[int, ...]) -> list[tuple[int, ...]]:
    places: list[tuple[int, ...]] = [()]
    for size in batch:
        places = [(*place, i) for place in places for i in range(size)]
    return places


def _times(matrix: Tensor | None, other: Tensor) -> Tensor:
    """matrix @ other, where None stands for the identity."""
    return other if matrix is None else torch.matmul(matrix, other)


def _norm(matrix: Tensor) -> float:
    return float(torch.linalg_vector_norm(matrix))


class LOBPCG:
    """The state of one iteration, as trackers see it.

    Attributes
    ----------
    A, B, iK
        The matrices; B and iK may be None.
    X, E, R
        The current vectors (m, n), values (n,), and residuals (m, n).
    S
        (m, 3 n): side by side the vectors, the directions of the last step, and the preconditioned residuals.
    iparams, fparams, bparams
        What the caller asked for: integers, floating-point numbers, switches.
    ivars, fvars, bvars, tvars
        What the iteration knows: ``istep``, ``converged_count`` ..., norms, ``force_stop``, ``rerr``.
    """

    def __init__(
        self, A: Tensor, B: Tensor | None, X: Tensor, iK: Tensor | None, iparams: dict[str, int],
        fparams: dict[str, float], bparams: dict[str, bool], method: str, tracker: Any,
    ) -> None:  # fmt: skip
        self.A, self.B, self.iK = A, B, iK
        self.iparams, self.fparams, self.bparams = iparams, fparams, bparams
        self.method, self.tracker = method, tracker
        self.X = X.clone()
        m, n = iparams["m"], iparams["n"]
        self.E = torch.zeros((n,), dtype=X.dtype, device=X.device)
        self.R = torch.zeros((m, n), dtype=X.dtype, device=X.device)
        self.S = torch.zeros((m, 3 * n), dtype=X.dtype, device=X.device)
        self.tvars: dict[str, Tensor] = {}
        self.ivars: dict[str, int] = {"istep": 0}
        self.fvars: dict[str, float] = {"_": 0.0}
        self.bvars: dict[str, bool] = {"_": False}

    def run(self) -> None:
        """Step until all wanted pairs have converged, the steps are used up, or the tracker stops."""
        self._begin()
        while not self._is_over():
            self.ivars["istep"] += 1
            self.ivars["iterations_left"] -= 1
            self._step()
            if self.tracker is not None:
                self.tracker(self)

    def _is_over(self) -> bool:
        found = self.ivars["converged_count"] >= self.iparams["k"]
        return self.bvars.get("force_stop", False) or not self.ivars["iterations_left"] or found

    def _begin(self) -> None:
        n = self.iparams["n"]
        x_norm = _norm(self.X)
        scale = x_norm**-1
        self.fvars["X_norm"] = x_norm
        self.fvars["A_norm"] = _norm(_times(self.A, self.X)) * scale
        self.fvars["B_norm"] = _norm(_times(self.B, self.X)) * scale
        self.ivars |= {"iterations_left": self.iparams["niter"], "converged_count": 0, "converged_end": n}
        if self.method == "ortho":
            self.ivars |= {"ortho_i": 0, "ortho_j": 0}
            self.X = self._orthonormal(self.X)
        self.S[:, :n] = self.X

    def _step(self) -> None:
        basis = self.S[:, : self.ivars["converged_end"]]
        coefficients = self._ritz(basis)
        n = self.iparams["n"]
        directions = self._directions(coefficients, basis)
        self.X = basis @ coefficients[:, :n]
        self._measure()
        found = self.ivars["converged_count"]
        directions = directions[:, found:]
        residuals = _times(self.iK, self.R[:, found:])
        known = torch.cat([self.X, directions], 1)
        if self.method == "ortho":
            residuals = self._orthonormal(residuals, known)
        end = known.shape[1] + residuals.shape[1]
        self.S[:, :end] = torch.cat([known, residuals], 1)
        self.ivars["converged_end"] = end

    def _ritz(self, basis: Tensor) -> Tensor:
        """Coefficients of the best vectors within a basis, the best first; their values are `E`."""
        transform = None if self.method == "ortho" else self._whitening(basis)
        whitened = basis if transform is None else basis @ transform
        projected = whitened.mT @ _times(self.A, whitened)
        values, inner = _eigh((projected + projected.mT) / 2)
        if self.bparams["largest"]:
            values, inner = values.flip(0), inner.flip(1)
        self.E = values[: self.iparams["n"]]
        return _times(transform, inner)

    def _whitening(self, basis: Tensor) -> Tensor:
        """What makes a basis B-orthonormal: the inverse of the Cholesky factor, of columns made equally long first."""
        gram = basis.mT @ _times(self.B, basis)
        lengths = gram.diagonal() ** -0.5
        factor = torch.linalg_cholesky(gram * lengths * lengths.unsqueeze(-1), upper=True)
        eye = torch.eye(factor.shape[0], dtype=factor.dtype, device=factor.device)
        return lengths.unsqueeze(-1) * torch.linalg_solve_triangular(factor, eye, upper=True)

    def _directions(self, coefficients: Tensor, basis: Tensor) -> Tensor:
        """The directions of this step: what the vectors gain besides the old ones; by "ortho", orthonormal to them."""
        n = self.iparams["n"]
        if basis.shape[1] == n:
            return basis[:, :0]
        if self.method == "basic":
            return basis[:, n:] @ coefficients[n:, :n]
        rest = coefficients[:, n:]
        return basis @ (rest @ torch.linalg_qr(rest[:n].mT)[0])

    def _measure(self) -> None:
        """Residuals, relative to the matrices, and how many of the first vectors are good enough."""
        bx = _times(self.B, self.X)
        self.R = _times(self.A, self.X) - bx * self.E
        scale = self.fvars["A_norm"] + self.E.abs() * self.fvars["B_norm"]
        errors = torch.linalg_vector_norm(self.R, 2, (0,)) / (torch.linalg_vector_norm(self.X, 2, (0,)) * scale)
        good = (errors < self.fparams["tol"]).tolist()
        self.ivars["converged_count"] = good.index(False) if False in good else len(good)
        self.tvars["rerr"] = errors

    def _orthonormal(self, columns: Tensor, known: Tensor | None = None) -> Tensor:
        """Columns that span what these do, B-orthonormal, and B-orthogonal to the known ones."""
        for outer in range(self.iparams["ortho_i_max"]):
            self.ivars["ortho_i"] = outer
            if known is not None:
                columns = columns - known @ (known.mT @ _times(self.B, columns))
            for inner in range(self.iparams["ortho_j_max"]):
                self.ivars["ortho_j"] = inner
                columns = self._svqb(columns)
                gram = columns.mT @ _times(self.B, columns)
                eye = torch.eye(gram.shape[0], dtype=gram.dtype, device=gram.device)
                error = _norm(gram - eye) / max(_norm(columns) ** 2, torch.finfo(gram.dtype).tiny)
                self.fvars[f"ortho_UBUmI_rerr[{outer}, {inner}]"] = error
                if error < self.fparams["ortho_tol"]:
                    break
            if known is None or not columns.shape[1]:
                break
            overlap = _norm(known.mT @ _times(self.B, columns)) / (_norm(known) * _norm(columns))
            self.fvars[f"ortho_VBU_rerr[{outer}]"] = overlap
            if overlap < self.fparams["ortho_tol"]:
                break
        return columns

    def _svqb(self, columns: Tensor) -> Tensor:
        """Columns turned to the axes of their Gram matrix and made as long as one.

        Axes that are nearly nothing are left out (``ortho_use_drop``), or taken for as long as the smallest that count.
        """
        gram = columns.mT @ _times(self.B, columns)
        diagonal = gram.diagonal()
        if not float(diagonal.abs().sum()):
            return columns[:, :0]
        lengths = torch.where(diagonal == 0, torch.zeros_like(diagonal), diagonal.abs() ** -0.5)
        values, axes = _eigh(gram * lengths * lengths.unsqueeze(-1))
        if self.bparams["ortho_use_drop"]:
            kept = values > self.fparams["ortho_tol_drop"] * values.abs().max()
            values, axes = values[kept], axes[:, kept]
        else:
            values = values.clamp(min=float(self.fparams["ortho_tol_replace"] * values.abs().max()))
        return columns @ (lengths.unsqueeze(-1) * axes * values**-0.5)


def _eigh(matrix: Tensor) -> tuple[Tensor, Tensor]:
    """Eigenpairs of a small matrix of the iteration, which never ends well where they are no numbers."""
    values, vectors = torch.linalg_eigh(matrix)
    if not bool(torch.isfinite(values).all()):
        refuse_no_convergence("linalg.eigh", "eigenvalues")
    return values, vectors
