"""Programs on masked tensors, and what is told of their results; `make_masked.py` records it of PyTorch."""

from __future__ import annotations

import copy
import warnings
from typing import Any

#: What every program finds; `torch` is whichever is asked.
PRELUDE = """
F = torch.nn.functional
from_masked = torch.masked
masked_tensor, as_masked_tensor = torch.masked.masked_tensor, torch.masked.as_masked_tensor
MaskedTensor, is_masked_tensor = torch.masked.MaskedTensor, torch.masked.is_masked_tensor
data = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
mask = torch.tensor([[True, False, True], [False, False, True]])
mask2 = torch.tensor([[True, True, False], [False, True, True]])
mt, mt1, mt2 = masked_tensor(data, mask), masked_tensor(data + 1, mask), masked_tensor(data * 2, mask2)
d = torch.arange(6.0).reshape(2, 3)

coo, csr = mask.to_sparse_coo().coalesce(), mask.to_sparse_csr()
sp, sr = masked_tensor(data.sparse_mask(coo), coo), masked_tensor(data.sparse_mask(csr), csr)


def sparse_grads(f, of=coo):
    leaf = masked_tensor(data.sparse_mask(of), of, requires_grad=True)
    made = f(leaf).to_dense()
    made.sum().backward()
    return made, leaf.grad


def grads(f):
    leaf = masked_tensor(data.clone(), mask, requires_grad=True)
    made = f(leaf)
    made.sum().backward()
    return made, leaf.grad


def dgrads(f):
    leaf = data.clone().requires_grad_()
    made = f(as_masked_tensor(leaf, mask))
    made.sum().backward()
    return made, leaf.grad
"""

#: Expressions whose value, or error, is recorded.
EXPRESSIONS = r"""
mt
mt.shape
mt.dtype
mt.get_data()
mt.get_mask()
mt.is_sparse
mt.layout
mt.requires_grad
is_masked_tensor(mt)
isinstance(mt,torch.Tensor)
masked_tensor(data,mask,requires_grad=True)
masked_tensor(data.int(),mask)
masked_tensor(data.double(),mask)
masked_tensor(data,mask.float())
masked_tensor(data,mask[0])
masked_tensor(data>2,mask)
masked_tensor(torch.tensor(3.),torch.tensor(True))
masked_tensor(torch.tensor(3.),torch.tensor(False))
masked_tensor(torch.ones(2,2,2),torch.ones(2,2,2)>0)
masked_tensor(data,mt)
masked_tensor(data,None)
masked_tensor(3,mask)
MaskedTensor(data,mask)
masked_tensor(data.clone().requires_grad_(),mask)
as_masked_tensor(data,mask)
as_masked_tensor(data.clone().requires_grad_(),mask)
mt+mt1
mt+mt2
mt+1
mt*2
2*mt
mt-mt1
mt/mt1
mt+d
d+mt
mt**2
mt.pow(2)
-mt
mt.abs()
mt.sqrt()
torch.sin(mt)
mt.exp()
mt.log()
torch.sigmoid(mt)
mt.neg_()
mt.add_(mt1)
mt.mul_(2)
mt>2
mt==mt1
mt==2
mt!=mt1
mt.eq(mt)
torch.eq(mt,mt2)
mt<mt1
torch.maximum(mt,mt1)
torch.fmod(mt,mt1)
mt//mt1
mt.clone()
mt.detach()
mt.to(torch.float64)
mt.double()
mt.int()
mt.sum()
mt.sum(0)
mt.sum(1)
mt.sum(dim=1)
mt.sum(-1,keepdim=True)
mt.mean()
mt.mean(0)
mt.mean(1)
mt.amax()
mt.amax(0)
mt.amin(1)
mt.prod()
mt.prod(0)
mt.argmax()
mt.argmax(1)
mt.argmin(0)
mt.all()
mt.all(0)
(mt>2).all()
mt.max()
mt.var()
mt.std(0)
torch.sum(mt,0)
torch.mean(mt,1)
torch.amax(mt,0)
mt.softmax(0)
torch.softmax(mt,-1)
F.softmax(mt,0)
mt.to_tensor(0.)
mt.to_tensor(float('nan'))
mt.to_dense()
mt[0]
mt[0,1]
mt[:,1]
mt[...,0]
mt[0,0]
mt[mask]
mt[0:1]
mt.view(3,2)
mt.reshape(6)
mt.t()
mt.transpose(0,1)
mt.unsqueeze(0)
mt.expand(2,2,3)
mt.contiguous()
mt.is_contiguous()
mt.flatten()
mt.split(1)
mt.chunk(2)
torch.cat([mt,mt1])
torch.stack([mt,mt1])
mt.select(0,0)
mt.narrow(1,0,2)
torch.mm(mt,torch.ones(3,2))
torch.where(mask,mt,mt1)
torch.where(mask,mt,masked_tensor(data*3,~mask))
torch.ones_like(mt)
mt.numel()
mt.tolist()
mt.numpy()
mt.size()
mt.stride()
mt.dim()
len(mt)
mt.isnan()
torch.isnan(mt)
mt.nonzero()
mt.sort()
mt.cumsum(0)
mt.clamp(2,4)
torch.clamp(mt,max=3.)
mt.round()
mt.copy_(mt1)
mt.fill_(3)
torch.isclose(mt,mt)
torch.masked.sum(mt)
torch.masked.mean(mt,1)
copy.deepcopy(mt)
str(mt)
grads(lambda x:x*2)
grads(lambda x:x*x)
grads(lambda x:x.sum())
grads(lambda x:x.sum(0))
grads(lambda x:x.mean())
grads(lambda x:x.mean(1))
grads(lambda x:x.amax())
grads(lambda x:x.exp())
grads(lambda x:x.prod())
grads(lambda x:x.softmax(1)*x)
grads(lambda x:(x+x).sin())
grads(lambda x: x*mt)
grads(lambda x: x/ x)
grads(lambda x: x.to_tensor(0.))
grads(lambda x: x.view(3,2)*2)
grads(lambda x: x[0])
dgrads(lambda x:x*2)
dgrads(lambda x:x.sqrt())
dgrads(lambda x:x.sum(0))
dgrads(lambda x:x.mean())
dgrads(lambda x:x.to_tensor(0.)*2)
dgrads(lambda x:x.log())
dgrads(lambda x:x.prod(1))
dgrads(lambda x:x.get_data()*2)
mt.requires_grad_().detach().requires_grad
masked_tensor(torch.tensor([1e10, float("inf"), 1e-9]), torch.ones(3) > 0)
masked_tensor(torch.tensor([1, 200000000000, 3]), torch.tensor([False, True, True]))
mt + torch.ones(2, 2, 3)
mt.sum([0])
mt.var(0, False)
torch.masked.sum(mt, mask=mask2)
torch.masked.softmax(mt, 0)
(mt.add_(1), data)
(mt.view(6).mul_(2), mt)
grads(lambda x: torch.cat([x, x * 2]))
grads(lambda x: x.to_tensor(3.0) * d)
dgrads(lambda x: (x - 1).log())
sp
sr
sp.layout
sr.layout
sp.is_sparse
sp.is_sparse_coo()
sr.is_sparse_csr()
sp.get_mask().to_dense()
sp.get_data().to_dense()
sr.get_data()
sp.to_dense()
sr.to_dense()
sp.to_sparse_csr()
mt.to_sparse()
mt.to_sparse_coo()
mt.to_sparse_csr()
mt.to_sparse().to_dense()
mt.to_sparse_csr().layout
sp.sin()
sr.exp()
sp + sp
sr * sr
sp + 1
sr * 2
sp + sp.get_data()
sp == sp
sp + sr
sp + mt
mt + sp
sp.sum()
sr.sum()
sp.mean()
sr.mean()
sp.amax()
sr.amin()
sp.prod()
sp.argmax()
sp.std()
sr.sum(1)
sp.mean(0)
sp.t()
sp.transpose(0, 1)
sp[0]
sp.clone()
sr.clone()
sp.double()
sp.is_contiguous()
sp.contiguous()
sp.stride()
sp.numel()
sparse_grads(lambda x: x)
sparse_grads(lambda x: x.sin())
sparse_grads(lambda x: x * x)
sparse_grads(lambda x: x)
sparse_grads(lambda x: x, csr)
sparse_grads(lambda x: x.exp(), csr)
grads(lambda x: x.to_sparse().to_dense() * 2)
grads(lambda x: x.to_sparse_csr().to_dense() * 2)
masked_tensor(data.to_sparse(), coo)
masked_tensor(data, coo)
masked_tensor(data.sparse_mask(csr), coo)
masked_tensor(data.to_sparse_csc(), mask.to_sparse_csc())
masked_tensor(data.sparse_mask(coo), (~mask).to_sparse())
masked_tensor(data.sparse_mask(coo), mask2.to_sparse())
masked_tensor(data.sparse_mask(csr), mask2.to_sparse_csr())
masked_tensor(data.bfloat16(), mask)
masked_tensor(data + 0j, mask)
masked_tensor(data > 2, mask, requires_grad=True)
mt.sum().item()
float(mt.mean())
torch.where(mask, mt, 1.0)
from_masked._combine_input_and_mask(torch.sum, data, mask)
from_masked._combine_input_and_mask(torch.amax, data, mask[0])
from_masked._combine_input_and_mask(torch.amin, data.int(), mask)
from_masked._combine_input_and_mask(torch.prod, mt, None)
from_masked._combine_input_and_mask(from_masked.norm, data, mask, -2)
from_masked._combine_input_and_mask(torch.sin, data, mask)
mt.clip(2, 4)
torch.greater(mt, mt1)
mt.less_(mt1)
""".strip().splitlines()


def _told(torch: Any, value: Any) -> Any:
    if isinstance(value, (tuple, list)) and not isinstance(value, torch.Size):
        return [_told(torch, one) for one in value]
    if isinstance(value, torch.Tensor):
        facts = [type(value).__name__, str(value.dtype), list(value.shape), value.requires_grad]
        shown = str(value if type(value) is not torch.Tensor else value.detach())
        return [*facts, shown]
    return str(value)


def answers(torch: Any) -> dict[str, Any]:
    """What each program gives: a description of its value, or the error's type and the begin of its words."""
    found: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for program in EXPRESSIONS:
            names: dict[str, Any] = {"torch": torch, "copy": copy}
            exec(PRELUDE, names)  # noqa: S102 - the program above
            try:
                found[program] = _told(torch, eval(program, names))  # noqa: S307 - the programs above
            except (RuntimeError, ValueError, TypeError, AttributeError, IndexError) as error:
                said = str(error).partition("\n")[0].partition(": no rule")[0].rstrip(":")
                found[program] = [type(error).__name__, said[:100]]
    return found
