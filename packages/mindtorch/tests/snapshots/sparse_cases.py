"""Programs on sparse tensors, and what is told of their results; `make_sparse.py` records it of PyTorch."""

from __future__ import annotations

import copy
import io
import pickle
import warnings
from typing import Any

#: What every program finds; `torch` is whichever is asked.
PRELUDE = """
i = torch.tensor([[0, 1, 1, 0], [2, 0, 2, 2]])
v = torch.tensor([3.0, 4.0, 5.0, 1.0])
s = torch.sparse_coo_tensor(i, v, (2, 3))
c = s.coalesce()
d = torch.arange(6.0).reshape(2, 3) + 1
h = torch.sparse_coo_tensor(torch.tensor([[0, 2]]), torch.arange(6.0).reshape(2, 3), (4, 3))
csr = torch.tensor([[0.0, 2.0, 0.0], [3.0, 0.0, 4.0]]).to_sparse_csr()
"""

#: Expressions whose value, or error, is recorded.
EXPRESSIONS = """
s
c
h
csr
csr.to_sparse_csc()
torch.sparse_coo_tensor((2, 3))
torch.sparse_coo_tensor((2, 3)).is_coalesced()
torch.sparse_coo_tensor(i, v)
torch.sparse_coo_tensor([[0, 1], [1, 0]], [1, 2])
torch.sparse_coo_tensor([[0, 1], [1, 0]], [1, 2], dtype=torch.float64)
torch.sparse_coo_tensor(torch.empty((1, 0)), torch.empty((0, 2)), (3, 2))
torch.sparse_coo_tensor(i, v, (2,))
torch.sparse_coo_tensor(i, torch.ones(2), (2, 3))
torch.sparse_coo_tensor(i, torch.ones(4, 2), (2, 3, 4))
torch.sparse_coo_tensor(i, v, (2, 3), requires_grad=True)
torch.sparse_coo_tensor(i, v, (2, 3), is_coalesced=True).is_coalesced()
torch.sparse_coo_tensor(-i, v, (2, 3), check_invariants=True)
torch.sparse_coo_tensor(i, v, (2, 2), check_invariants=True)
torch.sparse_csr_tensor([0, 1, 2], [1, 0], [1.0, 2.0])
torch.sparse_csr_tensor([0, 1, 2], [1, 5], [1.0, 2.0], (2, 2), check_invariants=True)
torch.sparse_csr_tensor([0, 2, 1], [1, 0], [1.0, 2.0], (2, 2), check_invariants=True)
torch.sparse_compressed_tensor([0, 1, 2], [1, 0], [1.0, 2.0], (2, 2), layout=torch.sparse_csc)
(h.dense_dim(), h.sparse_dim(), h._nnz(), tuple(h.shape), str(h.layout), h.is_sparse, h.is_sparse_csr)
(csr.layout == torch.sparse_csr, csr.is_sparse, csr.is_sparse_csr, csr._nnz())
(s.stride(), s.storage_offset(), s.is_contiguous(), s.numel(), s.ndim, s.type(), len(s))
(d.sparse_dim(), d.dense_dim(), d.is_sparse, str(d.layout))
s.indices()
s.values()
c.indices()
c.values()
s.data_ptr()
s.numpy()
s.tolist()
s.item()
d.is_coalesced()
d.indices()
d.values()
d.coalesce()
d.to_dense()
d.to_sparse()
d.to_sparse(1)
d.to_sparse(3)
torch.tensor(3.0).to_sparse()
s.to_dense()
h.to_dense()
csr.to_dense()
csr.to_sparse()
s.to_sparse_csr()
s.to_sparse_csc()
csr.to_sparse_csc().to_sparse()
torch.eye(2).repeat(2, 1, 1).to_sparse_csr()
s + s
s - c
s + h
d + s
s + d
c + torch.sparse_coo_tensor([[0], [0]], [7.0], (2, 3)).coalesce()
h + torch.sparse_coo_tensor([[2, 1]], [[1.0, 2, 3], [3, 4, 5]], (4, 3))
csr + csr
s * 2
2 * s
s * s
s * d
d * s
csr * csr
csr * 2
s / 2
s / d
s.floor_divide(2)
torch.div(s, 2, rounding_mode='floor')
-s
s.abs()
s.sqrt()
s.relu()
csr.relu()
s.log1p()
s.pow(2)
s ** 3
s.isnan()
s.square()
s.sgn()
h.tanh()
s.any()
s.sum()
s.sum(0)
s.norm()
torch.norm(s, 1)
torch.sparse.sum(s)
torch.sparse.sum(s, 0)
torch.sparse.sum(s, (0, 1))
torch.sparse.sum(h, 1)
torch.sparse.sum(h, 0)
torch.sparse.sum(s, dtype=torch.float64)
torch.sparse.sum(s, [])
csr.sum()
csr.sum(1, keepdim=True)
s.t()
c.t().is_coalesced()
s.transpose(0, 1)
s.permute(1, 0)
h.permute(1, 0)
s.unsqueeze(0)
h.unsqueeze(2)
csr.t()
s[0]
s[:, 1]
s[0, 2]
s[1, 2]
h[2]
h.select(1, 0)
csr[0]
s.select(0, 5)
s.index_select(0, torch.tensor([1, 0, 1]))
s.index_select(1, torch.tensor([2]))
h.index_select(1, torch.tensor([2, 0]))
s.narrow_copy(1, 1, 2)
h.narrow_copy(1, 1, 2)
torch.cat([s, s])
torch.cat([s, s], 1)
torch.cat([h, h], 1)
torch.cat([s, h])
torch.stack([s, s])
list(s)
s.reshape(3, 2)
s.view(3, 2)
s.expand(2, 2, 3)
s == s
s.exp()
s + 1
s.fill_(2)
torch.mm(s, d.t())
torch.mm(d.t(), s)
torch.mm(s, s.t())
s @ d.t()
s @ d.t()[:, 0]
torch.mv(s, torch.ones(3))
torch.sparse.mm(s, d.t())
torch.sparse.mm(s, s.t())
torch.sparse.mm(s, s)
torch.sparse.mm(csr, d.t(), 'mean')
torch.sparse.mm(csr, d.t(), 'amax')
torch.sparse.mm(csr, d.t(), 'median')
csr @ d.t()
torch.smm(s, d.t())
torch.hspmm(s, d.t())
torch.sspaddmm(torch.ones(2, 2).to_sparse(), s, d.t())
torch.addmm(torch.ones(2, 2), s, d.t(), beta=2, alpha=3)
torch.sparse.addmm(torch.ones(2, 2), s, d.t())
torch.bmm(torch.stack([s, s]), torch.stack([d.t(), d.t()]))
torch.sparse.softmax(s, 1)
torch.sparse.softmax(s, 0)
torch.sparse.softmax(h, 1)
torch.sparse.log_softmax(s, 1)
torch.sparse.sampled_addmm(csr, torch.ones(2, 4), torch.ones(4, 3), beta=2.0, alpha=0.5)
torch.sparse.sampled_addmm(s, torch.ones(2, 4), torch.ones(4, 3))
torch.sparse.spdiags(torch.arange(6.0).reshape(2, 3), torch.tensor([0, 1]), (3, 3))
torch.sparse.spdiags(torch.ones(2, 3), torch.tensor([1, 1]), (3, 3))
s.double()
s.to(torch.int64)
s.half()
csr.to(torch.float64)
s.clone()
s.detach()
torch.zeros_like(s)
torch.zeros_like(csr)
torch.zeros(2, 3, layout=torch.sparse_coo)
torch.zeros(2, 3, layout=torch.sparse_csr)
d.sparse_mask(c)
s.sparse_mask(h)
c.sparse_mask(torch.sparse_coo_tensor([[0, 1], [2, 1]], [1.0, 1.0], (2, 3)))
s.is_same_size(d)
s.clone().zero_()
s.clone().mul_(3)
s.clone().add_(c)
s.clone().sub_(s)
s.clone().neg_()
c.clone().relu_()
d.clone().add_(s, alpha=2)
d.clone().copy_(s)
s.clone().copy_(d)
s.clone().copy_(c)
s.clone().sparse_resize_((4, 4), 2, 0)
s.clone().sparse_resize_((1, 1), 2, 0)
s.clone().sparse_resize_and_clear_((1, 5), 1, 1)
s.clone().resize_(3, 2)
torch.sparse_coo_tensor(i, torch.tensor([True, True, False, True]), (2, 3)).coalesce()
torch.sparse_coo_tensor(i, torch.tensor([1, 2, 3, 4]), (2, 3)) / 2
torch.sparse_coo_tensor(i, torch.tensor([1, 2, 3, 4]), (2, 3)) * 1.5
torch.sparse_coo_tensor(i, torch.tensor([1, 2, 3, 4]), (2, 3)).mul_(1.5)
torch.sparse_coo_tensor(i, v.to(torch.complex64) * 1j, (2, 3)).coalesce()
load(save(s))
load(save(c)).is_coalesced()
load(save(csr))
load(save({'a': [h]}))['a'][0]
copy.deepcopy(s)
pickle.loads(pickle.dumps(csr))
""".strip().splitlines()

#: Functions of a sparse tensor whose gradients are recorded: of its values, and of itself as a leaf.
OF_SPARSE = """
s.to_dense()
s.coalesce().to_dense()
(s * 2).to_dense()
(s + s).to_dense()
(-s).to_dense()
(s - s * 2).to_dense()
s.sum()
torch.sparse.sum(s)
torch.sparse.sum(s, 0).to_dense()
torch.sparse.sum(s, 1).to_dense()
s @ d.t()
d.t() @ s
s @ torch.ones(3)
torch.sparse.mm(s, d.t())
torch.sparse.mm(s, s.t()).to_dense()
torch.sparse.softmax(s, 1).to_dense()
torch.sparse.log_softmax(s, 0).to_dense()
torch.sparse.addmm(torch.ones(2, 2), s, d.t(), beta=2, alpha=3)
(s * s).to_dense()
(s * d).to_dense()
d + s
s.t().to_dense()
s.coalesce().values() * 2
(s / 2).to_dense()
s.abs().to_dense()
s.relu().to_dense()
s.pow(2).to_dense()
s.square().to_dense()
s.sparse_mask(c).to_dense()
s.double().to_dense()
s.to_sparse_csr().to_dense()
s.clone().to_dense()
""".strip().splitlines()

#: The same of an ordinary tensor.
OF_DENSE = """
s @ d.t()
s * d
d + s
d.to_sparse() * 2
d.to_sparse(1).to_dense()
d.sparse_mask(c)
torch.addmm(d[:, :2], s, d.t())
d.t() @ s
torch.sparse.mm(s, d.t())
torch.sparse.mm(csr, d.t(), 'mean')
torch.sparse.mm(csr, d.t(), 'amax')
torch.sparse.sampled_addmm(csr, d[:, :2], torch.ones(2, 3)).to_dense()
""".strip().splitlines()

#: The same of compressed rows.
OF_ROWS = """
torch.sparse.mm(csr, d.t(), 'mean')
torch.sparse.mm(csr, d.t(), 'amin')
torch.sparse.mm(csr, d.t(), 'sum')
csr.to_dense()
torch.sparse.sampled_addmm(csr, torch.ones(2, 4), torch.ones(4, 3), beta=2.0).to_dense()
torch.sparse.mm(csr, d.t())
""".strip().splitlines()

TRAININGS = {
    "SGD": {"lr": 0.1}, "SGD with momentum": {"lr": 0.1, "momentum": 0.9}, "SparseAdam": {"lr": 0.1},
    "Adagrad": {"lr": 0.1}, "Adam": {"lr": 0.1},
}  # fmt: skip


def told(value: Any) -> Any:
    """What is compared of a result."""
    if isinstance(value, (list, tuple)):
        return [told(item) for item in value]
    if not hasattr(value, "layout") or not hasattr(value, "requires_grad"):
        return value
    said: dict[str, Any] = {"layout": str(value.layout), "shape": list(value.shape), "dtype": str(value.dtype)}
    held = value.detach()
    if str(value.layout) == "torch.sparse_coo":
        said["parts"] = [_list(held._indices()), _list(held._values())]
        said["coalesced"] = value.is_coalesced()
    elif str(value.layout) == "torch.sparse_csr":
        said["parts"] = [_list(part) for part in (held.crow_indices(), held.col_indices(), held.values())]
    elif str(value.layout) == "torch.sparse_csc":
        said["parts"] = [_list(part) for part in (held.ccol_indices(), held.row_indices(), held.values())]
    else:
        said["parts"] = [_list(held)]
    return said


def _list(tensor: Any) -> Any:
    if tensor.is_complex():
        return [tensor.real.tolist(), tensor.imag.tolist()]
    return [round(x, 5) if isinstance(x, float) else x for x in tensor.flatten().tolist()] + [list(tensor.shape)]


def _space(torch: Any) -> dict[str, Any]:
    def save(value: Any) -> io.BytesIO:
        file = io.BytesIO()
        torch.save(value, file)
        file.seek(0)
        return file

    space = {"torch": torch, "copy": copy, "pickle": pickle, "save": save, "load": torch.load}
    exec(PRELUDE, space)  # noqa: S102 - our own lines
    return space


def _attempt(run: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return run()
        except (RuntimeError, TypeError, IndexError, ValueError, NotImplementedError) as error:
            kind = type(error).__name__
            # Of what has no kernel, PyTorch's text goes on with lists of what is registered.
            return {"error": kind, "text": "" if kind == "NotImplementedError" else str(error).splitlines()[0]}


def _backward(torch: Any, out: Any) -> None:
    dense = out.to_dense() if out.layout != torch.strided else out
    (dense * (torch.arange(dense.numel()).reshape(dense.shape) + 1.0)).sum().backward()


def _gradient(torch: Any, text: str, name: str, of_values: bool) -> Any:
    space = _space(torch)
    if name == "s":
        leaf = space["v"].requires_grad_() if of_values else space["s"].requires_grad_()
        if of_values:
            space["s"] = torch.sparse_coo_tensor(space["i"], leaf, (2, 3))
    else:
        leaf = space[name].requires_grad_()
    _backward(torch, eval(text, space))  # noqa: S307 - our own text
    return _summed(told(leaf.grad))


def _summed(said: Any) -> Any:
    """Gradients of coordinates as pairs that do not depend on order, or on whether equal ones are added up."""
    said.pop("coalesced", None)
    if said["layout"] != "torch.sparse_coo":
        return said
    (*where, shape), (*values, _) = said.pop("parts")
    nnz = shape[1]
    sums: dict[str, float] = {}
    for k in range(nnz):
        place = str([where[row * nnz + k] for row in range(shape[0])])
        sums[place] = round(sums.get(place, 0.0) + values[k], 4)
    said["elements"] = {place: sum_ for place, sum_ in sorted(sums.items()) if sum_}
    return said


def _trained(torch: Any, name: str) -> Any:
    torch.manual_seed(0)
    table = torch.nn.Embedding(5, 2, sparse=True, padding_idx=4)
    optimizer = getattr(torch.optim, name.split(" ")[0])(table.parameters(), **TRAININGS[name])
    for _ in range(3):
        optimizer.zero_grad()
        (table(torch.tensor([[0, 3], [3, 4]])) ** 2).sum().backward()
        optimizer.step()
    bag = torch.nn.EmbeddingBag(5, 2, sparse=True, mode="sum")
    bag(torch.tensor([1, 2, 2, 4]), torch.tensor([0, 2])).sum().backward()
    return [told(table.weight), told(bag.weight.grad.coalesce())]


def answers(torch: Any) -> dict[str, Any]:
    """Program -> what is told of its result, or its error."""
    found: dict[str, Any] = {}
    for text in EXPRESSIONS:
        found[text] = _attempt(lambda text=text: told(eval(text, _space(torch))))  # noqa: S307 - our own text
    for text in ("s", "c", "h", "csr", "s * 2", "csr.t()", "s.half()", "torch.sparse_coo_tensor((2, 3))"):
        found[f"repr({text})"] = _attempt(lambda text=text: repr(eval(text, _space(torch))))  # noqa: S307 - our own text
    for text in OF_SPARSE:
        found[f"values: {text}"] = _attempt(lambda text=text: _gradient(torch, text, "s", True))
        found[f"leaf: {text}"] = _attempt(lambda text=text: _gradient(torch, text, "s", False))
    for name, texts in (("d", OF_DENSE), ("csr", OF_ROWS)):
        for text in texts:
            found[f"{name}: {text}"] = _attempt(lambda name=name, text=text: _gradient(torch, text, name, False))
    for name in TRAININGS:
        found[f"train: {name}"] = _attempt(lambda name=name: _trained(torch, name))
    return found
