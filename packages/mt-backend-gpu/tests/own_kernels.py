"""CUDA kernels of one's own on the stand-in for CuPy: ``python own_kernels.py``. It asserts, and says ``done``.

NVRTC and the driver take no part: the sources run on the CPU (`cpu_machine`).
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path
from typing import Any

from take_exam import compiled, stand_in

stand_in()
compiled()

import mindtorch as torch  # noqa: E402 - on the stand-in
from mt_backend_gpu.custom_kernel import (  # noqa: E402
    CudaKernel,
    bf16,
    boolean,
    f16,
    f32,
    f64,
    i8,
    i32,
    i64,
    struct,
    tensor,
    tensor_ptr,
    u16,
)

AXPY = """
extern "C" __global__ void axpy(const float* x, const float* y, float* out, float a, long long n) {
    long long i = blockIdx.x * blockDim.x + threadIdx.x;
    for (; i < n; i += gridDim.x * blockDim.x) out[i] = x[i] + a * y[i];
}
"""
MIXED = """
struct Tiling { unsigned total; double scale; short shift; unsigned long long seed; };
template <class T> __global__ void mixed(signed char a, bool b, unsigned short c, Tiling t, int d, double e, T* out) {
    if (threadIdx.x == 0 && threadIdx.y == 0 && blockIdx.y == gridDim.y - 1) {
        out[0] = a; out[1] = b; out[2] = c; out[3] = t.total; out[4] = t.scale; out[5] = t.shift; out[6] = t.seed;
        out[7] = d; out[8] = e; out[9] = blockDim.x * 100 + blockDim.y; out[10] = gridDim.x * 100 + gridDim.y;
    }
}
"""
HALVES = """
extern "C" __global__ void halves(unsigned short a, unsigned short b, signed char c, unsigned short d, int* out) {
    out[0] = a; out[1] = b; out[2] = c; out[3] = d;
}
"""


class Tiling(ctypes.Structure):
    _fields_ = [
        ("total", ctypes.c_uint),
        ("scale", ctypes.c_double),
        ("shift", ctypes.c_short),
        ("seed", ctypes.c_uint64),
    ]


def raises(error: Any, words: str, function: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
    try:
        function(*args, **kwargs)
    except error as caught:
        assert words in str(caught), f"{words!r} is not in {str(caught)!r}"
        return
    raise AssertionError(f"nothing was raised; wanted {words!r}")


def values() -> None:
    f = torch.float32
    axpy = CudaKernel(AXPY, "axpy", (f, f, f, f32, i64))
    x, y = torch.arange(1000.0, device="cuda"), torch.ones(1000, device="cuda")
    out = torch.empty_like(x)
    axpy(4, 128, x, y, out, 2.5, 1000)
    assert torch.equal(out.cpu(), torch.arange(1000.0) + 2.5)
    CudaKernel(AXPY, "axpy")((1, 1, 1), (64,), x, y, out, f32(-1), i64(1000))
    assert torch.equal(out.cpu(), torch.arange(1000.0) - 1)
    side = torch.cuda.Stream()
    axpy(1, 32, x, y, out, 0.5, 1000, stream=side)
    side.synchronize()
    assert torch.equal(out.cpu(), torch.arange(1000.0) + 0.5) and torch.cuda.current_stream() != side
    with torch.pipeline():
        x.fill_(1.0)
        axpy(1, 32, x, y, out, 1, 1000)
    assert out.cpu().unique().tolist() == [2.0]

    types = (i8, boolean, u16, Tiling, i32, f64, tensor)
    for dtype, name in ((torch.float64, "mixed<double>"), (torch.float32, "mixed<float>")):
        got = torch.zeros(11, dtype=dtype, device="cuda")
        given = Tiling(7, -1.5, -3, 2**40)
        CudaKernel(MIXED, name, types)((3, 2), (8, 4), -5, True, 65535, given, -70000, 0.1, got)
        wanted = torch.tensor([-5, 1, 65535, 7, -1.5, -3, 2**40, -70000, 0.1, 804, 302], dtype=dtype)
        assert torch.equal(got.cpu(), wanted), got
        again = (types[0], types[1], types[2], struct, *types[4:])
        CudaKernel(MIXED, name, again)((3, 2), (8, 4), -5, True, 65535, bytes(given), -70000, 0.1, got)
        assert torch.equal(got.cpu(), wanted)

    bits = torch.zeros(4, dtype=torch.int32, device="cuda")
    CudaKernel(HALVES, "halves", (f16, bf16, i8, f16, tensor))(1, 1, 1.5, -2.0, -3, 65504, bits)
    assert bits.tolist() == [0x3E00, 0xC000, -3, 0x7BFF], bits


def operators() -> None:
    axpy = CudaKernel(AXPY, "axpy", (tensor, tensor, tensor, f32, i64))

    def scaled_sum(x: torch.Tensor, y: torch.Tensor, a: float) -> torch.Tensor:
        out = torch.empty_like(x)
        axpy(2, 64, x, y, out, a, x.numel())
        return out

    op = torch.library.custom_op("owncuda::axpy", scaled_sum, mutates_args=(), device_types="cuda",
                                 schema="(Tensor x, Tensor y, float a) -> Tensor")  # fmt: skip
    op.register_fake(lambda x, y, a: torch.empty_like(x))
    op.register_autograd(lambda ctx, grad: (grad, None, None))
    x = torch.ones(5, device="cuda", requires_grad=True)
    result = torch.ops.owncuda.axpy(x, torch.ones(5, device="cuda"), 3.0)
    result.sum().backward()
    assert result.tolist() == [4.0] * 5 and x.grad.tolist() == [1.0] * 5
    assert op(torch.empty(2, 3, device="meta"), torch.empty(2, 3, device="meta"), 1.0).shape == (2, 3)


def refusals() -> None:
    f = torch.float32
    axpy = CudaKernel(AXPY, "axpy", (f, f, f, f32, i64))
    x = torch.ones(8, device="cuda")
    raises(TypeError, "argument 3: a bare float", CudaKernel(AXPY, "axpy"), 1, 32, x, x, x, 0.5, i64(8))
    raises(TypeError, "argument 4: a bare int", CudaKernel(AXPY, "axpy"), 1, 32, x, x, x, f32(0.5), 8)
    raises(TypeError, "takes 5 arguments", axpy, 1, 32, x)
    raises(TypeError, "torch.float32 is declared, not torch.float64", axpy, 1, 32, x.double(), x, x, 1, 8)
    elsewhere = "argument 1: kernels of device 'cuda' cannot read a tensor on 'cpu'"
    raises(ValueError, elsewhere, axpy, 1, 32, x, x.cpu(), x, 1, 8)
    raises(ValueError, "use .contiguous()", axpy, 1, 32, x[::2], x, x, 1, 4)
    raises(ValueError, "at most 1024 threads, not 2048", axpy, 1, (64, 32), x, x, x, 1, 8)
    raises(ValueError, "a block has at most 2 dimensions", axpy, 1, (8, 8, 2), x, x, x, 1, 8)
    raises(ValueError, "positive numbers", axpy, 0, 32, x, x, x, 1, 8)
    raises(TypeError, "whole numbers", axpy, 1.5, 32, x, x, x, 1, 8)
    raises(ValueError, "at most 2147483647 x 65535 x 65535", axpy, (1, 65536), 32, x, x, x, 1, 8)
    raises(TypeError, "a stream is a torch.cuda.Stream", axpy, 1, 32, x, x, x, 1, 8, stream=5)
    raises(FileNotFoundError, "absent.cubin", CudaKernel, Path("absent.cubin"), "axpy")
    raises(OverflowError, "does not fit in f32", axpy, 1, 32, x, x, x, 1e39, 8)
    raises(OverflowError, "65520.0 does not fit in f16 (half)", f16, 65520)
    assert tensor_ptr(x) == x.data_ptr()


if __name__ == "__main__":
    for part in (values, operators, refusals):
        part()
    print("done")
