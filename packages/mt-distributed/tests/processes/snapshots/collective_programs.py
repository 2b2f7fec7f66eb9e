"""What every rank does with PyTorch's Gloo and with mindtorch: calls, whose results or refusals are told as texts."""

import torch
import torch.distributed as dist

DTYPES = "float32 float64 float16 bfloat16 int8 uint8 int32 int64 bool complex64".split()
OPS = "SUM AVG PRODUCT MIN MAX BAND BOR BXOR".split()


def told(call):
    """The result of a call as text, or its refusal in the first line of its words."""
    try:
        return str(call())
    except (TypeError, ValueError, RuntimeError) as error:
        kind = next(one for one in (TypeError, ValueError, RuntimeError) if isinstance(error, one))
        return f"{kind.__name__}: {str(error).splitlines()[0]}"


def values(dtype, rank, count=6):
    numbers = [(3 * i + 5 * rank) % 4 for i in range(count)]
    if dtype.startswith("complex"):
        return torch.tensor([complex(n, rank) for n in numbers], dtype=getattr(torch, dtype))
    return torch.tensor(numbers).to(getattr(torch, dtype))


def reductions(rank, size):
    for dtype in DTYPES:
        for op in OPS:

            def all_reduce(dtype=dtype, op=op):
                x = values(dtype, rank)
                dist.all_reduce(x, getattr(dist.ReduceOp, op))
                return x.tolist()

            def scattered(dtype=dtype, op=op):
                x, out = values(dtype, rank, 2 * size), values(dtype, 0, 2)
                dist.reduce_scatter_tensor(out, x, getattr(dist.ReduceOp, op))
                return out.tolist()

            yield f"all_reduce {dtype} {op}", all_reduce
            if op in ("SUM", "MAX", "AVG", "BOR"):
                yield f"reduce_scatter_tensor {dtype} {op}", scattered


def movements(rank, size):
    for dtype in DTYPES:

        def broadcast(dtype=dtype):
            x = values(dtype, rank)
            dist.broadcast(x, size - 1)
            return x.tolist()

        def all_gather(dtype=dtype):
            outputs = [values(dtype, 0) for _ in range(size)]
            dist.all_gather(outputs, values(dtype, rank))
            return [x.tolist() for x in outputs]

        def into_tensor(dtype=dtype):
            output = values(dtype, 0, 6 * size)
            dist.all_gather_into_tensor(output, values(dtype, rank))
            return output.tolist()

        def gather(dtype=dtype):
            outputs = [values(dtype, 0) for _ in range(size)] if rank == 1 else None
            dist.gather(values(dtype, rank), outputs, dst=1)
            return outputs and [x.tolist() for x in outputs]

        def scatter(dtype=dtype):
            output = values(dtype, 0)
            dist.scatter(output, [values(dtype, r) for r in range(size)] if rank == 1 else None, src=1)
            return output.tolist()

        def all_to_all(dtype=dtype):
            outputs = [values(dtype, 0, 2) for _ in range(size)]
            dist.all_to_all(outputs, [values(dtype, rank + r, 2) for r in range(size)])
            return [x.tolist() for x in outputs]

        def single(dtype=dtype):
            output = values(dtype, 0, 2 * size)
            dist.all_to_all_single(output, values(dtype, rank, 2 * size))
            return output.tolist()

        def reduced(dtype=dtype):
            x = values(dtype, rank)
            dist.reduce(x, 1)
            return x.tolist() if rank == 1 else None

        yield from ((f"{one.__name__} {dtype}", one) for one in (broadcast, all_gather, into_tensor, gather, scatter))
        yield from ((f"{one.__name__} {dtype}", one) for one in (all_to_all, single, reduced))


def layouts(rank, size):
    def strided():
        x = (torch.arange(6.0).reshape(2, 3) + rank).t()
        dist.all_reduce(x)
        return x.tolist(), x.stride()

    def gathered_from_strided():
        output = torch.zeros(3 * size, 2)
        dist.all_gather_into_tensor(output, (torch.arange(6.0).reshape(2, 3) + rank).t())
        return output.tolist()

    def empty():
        x = torch.ones(0, 3)
        dist.all_reduce(x)
        dist.broadcast(x, 0)
        return x.shape

    def scalar():
        x = torch.tensor(1.5 + rank)
        dist.all_reduce(x)
        return x.item()

    yield from ((one.__name__, one) for one in (strided, gathered_from_strided, empty, scalar))


def refusals(rank, size):
    x = torch.ones(2)
    calls = {
        "no tensor": lambda: dist.all_reduce(1),
        "no list": lambda: dist.all_gather(x, x),
        "dtypes": lambda: dist.all_gather([torch.zeros(2, dtype=torch.int32)] * size, x),
        "no source": lambda: dist.broadcast(x),
        "to itself": lambda: dist.send(x, rank),
        "not a message": lambda: dist.P2POp(dist.all_reduce, x, 0),
        "two ranks": lambda: dist.broadcast(x, 0, group_src=0),
        "too small": lambda: dist.all_gather_into_tensor(torch.zeros(1), x),
        "other dtype": lambda: dist.all_gather_into_tensor(torch.zeros(2 * size, dtype=torch.int32), x),
        "splits": lambda: dist.all_to_all_single(torch.zeros(4), torch.ones(4), [1] * size, [9] * size),
        "coalesced dtypes": lambda: dist.all_reduce_coalesced([x, x.int()]),
        "complex": lambda: dist.all_reduce(x.to(torch.complex64), dist.ReduceOp.MAX),
        "group twice": lambda: dist.init_process_group("gloo"),
        "no such rank": lambda: dist.new_group([99]),
        "rank twice": lambda: dist.new_group([0, 0]),
        "outside list": lambda: dist.gather(x, [x] * size, dst=1) if rank == 0 else dist.get_rank(),
    }
    yield from calls.items()


def objects(rank, size):
    def gathered():
        every = [None] * size
        dist.all_gather_object(every, {"rank": rank, "text": "x" * rank})
        return every

    def broadcast():
        given = [1, "two", {3: rank}] if rank == 0 else [None] * 3
        dist.broadcast_object_list(given, 0)
        return given

    def scattered():
        output = [None]
        dist.scatter_object_list(output, [f"for {r}" for r in range(size)] if rank == 0 else None, 0)
        return output

    def collected():
        every = [None] * size if rank == 1 else None
        dist.gather_object((rank, "x"), every, dst=1)
        return every

    yield from ((f"{one.__name__} object", one) for one in (gathered, broadcast, scattered, collected))


def described(rank, size):
    """Name of a call -> what it gave this rank."""
    found = {}
    for part in (reductions, movements, layouts, refusals, objects):
        for name, call in part(rank, size):
            found[name] = told(call)
    return found
