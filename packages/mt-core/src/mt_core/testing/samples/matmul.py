"""Sample inputs: products of matrices and vectors."""

from __future__ import annotations

from ... import dtypes
from ..sample import call, cases

cases(
    "mm matmul",
    *[
        lambda t, d=d: call(t(2, 3, dtype=d), t(3, 4, dtype=d))
        for d in (dtypes.float32, dtypes.bfloat16, dtypes.int64, dtypes.complex64)
    ],
)
cases("mm matmul", lambda t: call(t(3, 2).t(), t(4, 3).t()), lambda t: call(t(2, 0), t(0, 3)))
cases(
    "matmul",
    lambda t: call(t(3), t(3)),
    lambda t: call(t(2, 3), t(3)),
    lambda t: call(t(3), t(2, 3, 4)),
    lambda t: call(t(2, 1, 2, 3), t(4, 3, 5)),
)
cases("bmm", lambda t: call(t(2, 3, 4), t(2, 4, 5)), lambda t: call(t(2, 4, 3).transpose(1, 2), t(2, 4, 5)))
cases("mv", lambda t: call(t(2, 3), t(3)))
cases(
    "dot vdot", lambda t: call(t(3), t(3)), lambda t: call(t(3, dtype=dtypes.complex64), t(3, dtype=dtypes.complex64))
)
cases("outer ger", lambda t: call(t(2), t(3)))
cases("_trilinear.of_rows", lambda t: call(t(2, 3), t(2, 4), t(5, 3, 4)))
cases("_linear_of_rows", lambda t: call(t(4), t(2, 3), t(4, 3)), lambda t: call(t(1), t(2, 3), t(4, 3)))
cases("addmm", lambda t: call(t(2, 4), t(2, 3), t(3, 4)), lambda t: call(t(4), t(2, 3), t(4, 3).t(), beta=0.5, alpha=2))
cases("addmv", lambda t: call(t(2), t(2, 3), t(3)), lambda t: call(t(), t(2, 3), t(3), beta=0, alpha=2))
cases(
    "baddbmm", lambda t: call(t(2, 3, 5), t(2, 3, 4), t(2, 4, 5)), lambda t: call(t(5), t(2, 3, 4), t(2, 4, 5), beta=2)
)
cases("addbmm", lambda t: call(t(3, 5), t(2, 3, 4), t(2, 4, 5), alpha=0.5))
cases("addr", lambda t: call(t(2, 3), t(2), t(3)), lambda t: call(t(3), t(2), t(3), beta=2, alpha=3))
cases(
    "linear", lambda t: call(t(2, 3), t(4, 3)), lambda t: call(t(5, 2, 3), t(4, 3), t(4)), lambda t: call(t(3), t(4, 3))
)
cases("bilinear", lambda t: call(t(2, 3), t(2, 4), t(5, 3, 4)), lambda t: call(t(2, 3), t(2, 4), t(5, 3, 4), t(5)))
cases("inner", lambda t: call(t(2, 3), t(4, 3)), lambda t: call(t(3), t(3)))
cases("kron", lambda t: call(t(2, 3), t(4, 5)), lambda t: call(t(2), t(3, 2)))

# Arguments away from their defaults.
cases("addbmm", lambda t: call(t(), t(2, 3, 4), t(2, 4, 5), beta=0.5, alpha=2))
cases("baddbmm", lambda t: call(t(2, 3, 5), t(2, 3, 4), t(2, 4, 5), beta=0, alpha=-2))
cases("addmm addmm", lambda t: call(t(2, 4), t(2, 3), t(3, 4), beta=0, alpha=2), lambda t: call(t(), t(2, 0), t(0, 3)))
cases("addmv", lambda t: call(t(2), t(2, 3), t(3), beta=0.5, alpha=3))

# Refused, as PyTorch refuses it: also where a short path does not look.
cases("mm", lambda t: call(t(2, 3), t(2, 3)), lambda t: call(t(3), t(3, 2)), lambda t: call(t(2, 3), t.ints(3, 2)))
cases("matmul", lambda t: call(t(2, 3), t(2, 3)), lambda t: call(t(), t(3)), lambda t: call(t(2, 2, 3), t(3, 3, 2)))
cases("bmm", lambda t: call(t(2, 3, 4), t(3, 4, 5)), lambda t: call(t(2, 3), t(3, 4)))
cases("linear", lambda t: call(t(2, 3), t(4, 2)), lambda t: call(t(2, 3), t(4, 3), t(3)))
cases("addmm", lambda t: call(t(3), t(2, 3), t(3, 4)), lambda t: call(t(2, 4), t(2, 3), t(2, 4)))
cases("dot mv", lambda t: call(t(3), t(4)))
cases(
    "_int_mm",
    lambda t: call(t.ints(3, 4, dtype=dtypes.int8), t.ints(4, 2, dtype=dtypes.int8)),
    lambda t: call(t.ints(2, 300, high=200, dtype=dtypes.uint8), t.ints(300, 2, high=120, dtype=dtypes.int8)),
)
cases("addmv", lambda t: call(t(1), t(0, 3), t(3), beta=2.0), lambda t: call(t(2), t(2, 0), t(0), beta=0))
cases(
    "_addmm_activation",
    lambda t: call(t(4), t(2, 3), t(3, 4)),
    lambda t: call(t(2, 4), t(2, 3), t(3, 4), beta=0.5, alpha=2, use_gelu=True),
)
