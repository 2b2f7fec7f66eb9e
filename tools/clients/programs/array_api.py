"""The array API standard over torch, by array-api-compat."""

import array_api_compat
import torch
from array_api_compat import array_namespace


def program():
    torch.manual_seed(0)
    x = torch.randn(3, 4, dtype=torch.float64)
    xp = array_namespace(x)
    yield "namespace", xp.__name__
    yield "is torch", array_api_compat.is_torch_array(x)
    yield "device", str(array_api_compat.device(x))
    yield "size", array_api_compat.size(x)
    for name in ("sum", "prod", "mean", "std", "var", "max", "min", "any", "all", "argmax", "argmin"):
        yield name, getattr(xp, name)(x, axis=1)
    yield "concat", xp.concat([x, x], axis=1)
    yield "sort", xp.sort(x, axis=0, descending=True)
    yield "unique", xp.unique_counts(xp.asarray([3, 1, 3, 2, 1]))
    yield "take", xp.take(x, xp.asarray([2, 0]), axis=1)
    yield "permute", xp.permute_dims(x, (1, 0)).stride()
    yield "astype", xp.astype(x, xp.int32)
    yield "promoted", str(xp.result_type(xp.int32, xp.float32))
    yield "svd", xp.linalg.svdvals(x)
    yield "vecdot", xp.vecdot(x, x)
    yield "outer", xp.linalg.outer(x[0], x[1])
    yield "fft", xp.fft.rfft(x)
    yield "clip", xp.clip(x, -0.5, 0.5)
    yield "isdtype", xp.isdtype(x.dtype, ("real floating", "integral"))
    yield "tril", xp.tril(x, k=-1)
    yield "cumulative", xp.cumulative_sum(x, axis=1, include_initial=True)
