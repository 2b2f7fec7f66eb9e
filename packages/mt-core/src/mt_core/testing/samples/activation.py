"""Sample inputs: activation functions, softmax, and what their derivatives are made of."""

from __future__ import annotations

from ... import dtypes
from ..sample import Sample, TensorMaker, binary, call, cases, constant_results, constants, domain, random_values, unary

FLOATS = (dtypes.float32, dtypes.float64, dtypes.bfloat16)

unary(
    "relu sigmoid tanh silu mish softplus elu log_sigmoid celu selu hardtanh relu6 hardsigmoid hardswish leaky_relu "
    "softshrink hardshrink gelu"
)
unary("celu elu leaky_relu", 0.3, dtypes=FLOATS)
unary("softshrink hardshrink", 0.8, dtypes=FLOATS)
unary("hardtanh", -0.5, 1.5, dtypes=FLOATS)
unary("softplus", 2, 1, dtypes=FLOATS)
unary("elu", 0.5, 2, 3, dtypes=FLOATS)
unary("threshold", -0.3, 2, dtypes=FLOATS)
unary("log_sigmoid_forward", dtypes=FLOATS)
unary("gelu", approximate="tanh", dtypes=FLOATS)
unary("threshold", 0.5, 7)
unary("logit", low=0.1, high=0.9)
unary("logit", 0.2, low=-1, dtypes=FLOATS)
cases("_prelu_kernel", lambda t: call(t(2, 3), t(1, 3)), lambda t: call(t(2, 3), t(2, 3)))
cases("prelu", lambda t: call(t(2, 3), t(3)), lambda t: call(t(2, 3, 4), t(1)))
cases("rrelu", lambda t: call(t(2, 3)), lambda t: call(t(2, 3), 0.1, 0.4, True))
cases(
    "rrelu_with_noise rrelu_with_noise_functional",
    lambda t: call(t(2, 3), t(2, 3)),
    lambda t: call(t(2, 3), t(2, 3), 0.1, 0.4, True),
)
random_values("rrelu rrelu_with_noise rrelu_with_noise_functional")
cases("glu", lambda t: call(t(2, 4)), lambda t: call(t(4, 3, 2), 0))

binary("sigmoid_backward tanh_backward silu_backward hardsigmoid_backward hardswish_backward", dtypes=FLOATS)
for _dtype in FLOATS:  # in training, both have one shape and dtype
    _two = lambda t, d=_dtype: call(t(2, 3, dtype=d), t(2, 3, dtype=d))
    cases("mish_backward gelu_backward", _two, lambda t, d=_dtype: call(t(3, 2, dtype=d).t(), t(2, 3, dtype=d)))
    cases("gelu_backward", lambda t, d=_dtype: call(t(2, 3, dtype=d), t(2, 3, dtype=d), approximate="tanh"))
binary("logit_backward", low=0.1, high=0.9, dtypes=FLOATS)
binary("softplus_backward", 2, 1, dtypes=FLOATS)
binary("threshold_backward softshrink_backward hardshrink_backward", 0.8, dtypes=FLOATS)
binary("hardtanh_backward", -0.5, 1.5, dtypes=FLOATS)
binary("leaky_relu_backward", 0.3, True, dtypes=FLOATS)
binary("logit_backward", 0.3, low=0.1, high=0.9, dtypes=FLOATS)
binary("softplus_backward", 1, 20, dtypes=FLOATS)
binary("threshold_backward softshrink_backward hardshrink_backward", 0.5, dtypes=FLOATS)
binary("hardtanh_backward", -1, 1, dtypes=FLOATS)
binary("leaky_relu_backward", 0.1, False, dtypes=FLOATS)
cases("log_sigmoid_backward", lambda t: call(t(2, 3), t(2, 3), t(2, 3, low=0.1, high=0.9)))
cases(
    "elu_backward", lambda t: call(t(2, 3), 1, 1, 1, False, t(2, 3)), lambda t: call(t(2, 3), 0.5, 2, 3, True, t(2, 3))
)
cases("_prelu_kernel_backward", lambda t: call(t(2, 3), t(2, 3), t(1, 3)))
cases("glu_backward", lambda t: call(t(2, 2), t(2, 4), -1))
cases("rrelu_with_noise_backward", lambda t: call(t(2, 3), t(2, 3), t(2, 3), 0.1, 0.3, True, False))

cases(
    "softmax.int log_softmax.int",
    lambda t: call(t(2, 3), 1),
    lambda t: call(t(2, 3, 4).permute(2, 0, 1), 0),
    lambda t: call(t(2, 3), -1, dtype=dtypes.float64),
    lambda t: call(t(), 0),
)
cases(
    "_softmax _log_softmax",
    lambda t: call(t(2, 3), 1, False),
    lambda t: call(t(2, 3, dtype=dtypes.bfloat16), 0, False),
    lambda t: call(t(2, 3, 4).permute(2, 0, 1), 1, False),
)
cases("_softmax_backward_data _log_softmax_backward_data", lambda t: call(t(2, 3), t(2, 3), 1, dtypes.float32))
cases("_masked_softmax", lambda t: call(t(2, 3), t.bools(2, 3), 1, 2))


def masked_softmax_backward(make: TensorMaker) -> Sample:
    """What was masked has no probability."""
    mask = make.of([[True, False, False], [False, False, True]], dtypes.bool)
    return call(make(2, 3), make.of([[0, 0.25, 0.75], [0.5, 0.5, 0]]), mask, 1)


cases("_masked_softmax_backward", masked_softmax_backward)

domain("_masked_softmax_backward", lambda grad, output, mask, dim: [grad, output.masked_fill(mask, 0), mask, dim])
constant_results("log_sigmoid_forward", 1)
domain("log_sigmoid_backward", lambda grad, x, buffer: [grad, x, (-x.abs()).exp().detach()])
constants("rrelu_with_noise rrelu_with_noise_functional rrelu_with_noise_backward", "noise")
constants("log_sigmoid_backward", "buffer")

# Arguments away from their defaults.
cases("_softmax_backward_data _log_softmax_backward_data", lambda t: call(t(2, 3), t(2, 3), 0, dtypes.float32))
cases("_masked_softmax", lambda t: call(t(2, 3), t.bools(2, 3), 0), lambda t: call(t(2, 3), t.bools(2, 3)))
cases("glu_backward", lambda t: call(t(1, 4), t(2, 4), 0))
cases("rrelu_with_noise_backward", lambda t: call(t(2, 3), t(2, 3), t(2, 3), 0.2, 0.4, False, False))
cases("_prelu_kernel_backward", lambda t: call(t(2, 3), t(2, 3), t(2, 3)))
cases(
    "_masked_softmax_backward",
    lambda t: call(
        t(2, 3), t.of([[0, 0.25, 0.75], [1, 0.75, 0.25]]), t.of([[True] + [False] * 2, [False] * 3], dtypes.bool), 0
    ),
)
