"""Programs on nested tensors, and what is told of their results; `make_nested.py` records it of PyTorch."""

from __future__ import annotations

import copy
import re
import warnings
from typing import Any

#: What every program finds; `torch` is whichever is asked.
PRELUDE = """
F, nn = torch.nn.functional, torch.nn
a = torch.arange(6.0).reshape(2, 3)
b = torch.arange(12.0).reshape(4, 3)
nt = torch.nested.nested_tensor([a, b], layout=torch.jagged)
other = torch.nested.nested_tensor([a, b], layout=torch.jagged)
rows = [torch.linspace(-1, 1, n * 8).reshape(n, 8) for n in (3, 1, 5)]
longer = torch.nested.nested_tensor(rows, layout=torch.jagged)
x = nt.detach()
j, j_other = nt.shape[1], other.shape[1]
off, V = torch.tensor([0, 2, 6]), torch.arange(18.0).reshape(6, 3)
off3 = torch.tensor([0, 2, 3])
numbers = torch.nested.nested_tensor([torch.tensor([0, 1]), torch.tensor([2, 0, 1])], layout=torch.jagged)


def attended(t, key=1):
    heads = t.unflatten(-1, (1, -1)).transpose(1, 2)
    return F.scaled_dot_product_attention(heads, heads * key, heads + 1).transpose(1, 2).flatten(-2)


def elements(t):
    return t.values() if t.is_nested else t


def gradients(f):
    leaf = torch.nested.nested_tensor([a + 1, b / 2], layout=torch.jagged, requires_grad=True)
    made = f(leaf)
    elements(made).sum().backward()
    return made.detach(), leaf.grad.values()


def weights(f):
    w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    made = f(w)
    if made.requires_grad:
        elements(made).sum().backward()
    return made.detach(), w.grad
"""

#: Expressions whose value, or error, is recorded.
EXPRESSIONS = r"""
j==j_other
j!=j_other
j==j
j==3
j!=3
j>=2
j>=3
j<=3
j<2
3<=j
j>j_other
j>=j
j>j
j*2
2*j
j*j
j*2==j*2
j*2==j
j+1
j//2
int(j)
hash(j)==hash(j)
bool(j)
nt.numel()
nt.size(0)
nt.size(1)
nt.size()
nt.size(-1)
nt.stride(1)
nt.dim()
nt+1
nt+nt
nt+other
nt*2
nt+torch.ones(3)
nt+a
nt.sum()
nt.sum(1)
nt.sum(-1)
nt.sum(0)
nt.sum(1,keepdim=True)
nt.sum(-1,keepdim=True)
nt.sum((1,2))
nt.sum((0,1))
nt.mean()
nt.mean(1)
nt.mean(-1)
nt.softmax(-1)
torch.softmax(nt,1)
nt.max()
nt.amax(1)
nt.amax(-1)
nt.transpose(1,2)
nt.transpose(0,1)
nt.transpose(1,2).shape
nt.transpose(1,2).stride()
nt.transpose(-1,-2).contiguous()
nt.unbind()
nt.unbind(1)
nt[0]
nt[...,0:2]
nt[0:1]
nt[-1]
nt.select(0,0)
nt.values()
nt.offsets()
nt.lengths()
nt.to_padded_tensor(0.)
torch.nested.to_padded_tensor(nt,0.,(2,6,3))
nt.unsqueeze(-1)
nt.unsqueeze(0)
nt.unsqueeze(1)
nt.unflatten(-1,[3,1])
nt.view(2,-1,3,1)
nt.view(2,j,3,1)
nt.reshape(2,-1,1,3)
nt.flatten(-2)
nt.view(-1)
nt @ torch.ones(3,2)
nt @ nt.transpose(1,2)
torch.matmul(nt,torch.ones(2,3,2))
torch.bmm(nt,torch.ones(2,3,2))
nt.chunk(3,-1)
nt.chunk(2,0)
nt.split(1,-1)
torch.cat([nt,nt],-1)
torch.cat([nt,nt],0)
torch.stack([nt,nt])
torch.where(nt>2,nt,nt)
nt>2
nt==nt
nt.clone()
nt.detach()
nt.to(torch.float64)
nt.half()
nt.bool()
torch.zeros_like(nt)
torch.ones_like(nt)
torch.full_like(nt,2.)
nt.numpy()
nt.item()
nt.is_contiguous()
nt.contiguous() is nt
nt.permute(0,2,1)
nt.squeeze(-1)
nt.any()
nt.all()
nt.masked_fill(nt>2,0.)
nt.relu_()
nt.add_(1)
nt.cumsum(1)
nt.argmax(-1)
nt.sort()
nt.topk(1)
nt.expand(2,j,3)
len(nt)
list(nt)
nt.storage_offset()
nt.data_ptr()
nt.is_leaf
nt.T
nt.mT
nt.abs().sqrt()
F.layer_norm(nt,(3,))
F.linear(nt,torch.ones(2,3))
F.dropout(nt,0.)
F.rms_norm(nt,(3,))
F.gelu(nt)
F.embedding(torch.nested.nested_tensor([torch.tensor([0,1]),torch.tensor([2])],layout=torch.jagged),torch.ones(3,2))
F.one_hot(nt.long())
torch.isnan(nt)
nt.element_size()
nt.min()
nt.prod(1)
nt.logsumexp(-1)
nt.view(2,2,3)
nt.fill_(3)
nt.zero_()
nt.copy_(nt)
nt.new_zeros(2)
nt.new_empty((2,j,3)).shape
nt.bernoulli()
torch.nested.masked_select(torch.ones(3,2),torch.ones(3,2)>0)
torch.nested.narrow(torch.arange(10.).reshape(2,5),1,torch.tensor([0,1]),torch.tensor([2,3]),layout=torch.jagged)
nt[0,1]
nt[torch.tensor([0])]
nt[None]
nt.index_select(0,torch.tensor([1]))
nt.reshape(-1,3)
nt.backward()
j
str(j)
torch.nested.nested_tensor([[1,2],[3]],layout=torch.jagged)
torch.nested.nested_tensor([],layout=torch.jagged)
torch.nested.nested_tensor([a,torch.ones(2,4)],layout=torch.jagged)
torch.nested.nested_tensor([a,torch.ones(2)],layout=torch.jagged)
torch.nested.nested_tensor([torch.tensor(1.)],layout=torch.jagged)
torch.nested.nested_tensor([a,b.double()],layout=torch.jagged)
torch.nested.nested_tensor(3,layout=torch.jagged)
torch.nested.as_nested_tensor([a,b],layout=torch.jagged)
torch.nested.as_nested_tensor(torch.ones(2,3,4),layout=torch.jagged)
torch.nested.as_nested_tensor(torch.ones(2,3,4),layout=torch.jagged).offsets()
torch.nested.as_nested_tensor(torch.ones(2),layout=torch.jagged)
torch.nested.as_nested_tensor(nt,layout=torch.jagged) is nt
torch.nested.as_nested_tensor(nt) is nt
torch.nested.as_nested_tensor(3,layout=torch.jagged)
torch.nested.nested_tensor_from_jagged(V,off)
torch.nested.nested_tensor_from_jagged(V,lengths=torch.tensor([2,4]))
torch.nested.nested_tensor_from_jagged(V,off,torch.tensor([1,3]))
torch.nested.nested_tensor_from_jagged(V,off,torch.tensor([1,3])).unbind()
torch.nested.nested_tensor_from_jagged(V,off,torch.tensor([1,3])).to_padded_tensor(-1.)
torch.nested.nested_tensor_from_jagged(V,off,torch.tensor([1,3])).sum(1)
torch.nested.nested_tensor_from_jagged(V,off,torch.tensor([1,3])).sum()
torch.nested.nested_tensor_from_jagged(V,off,torch.tensor([1,3])).contiguous()
torch.nested.nested_tensor_from_jagged(V,off,torch.tensor([1,3])).numel()
torch.nested.nested_tensor_from_jagged(V,off,torch.tensor([1,3])).is_contiguous()
torch.nested.nested_tensor_from_jagged(V,off,torch.tensor([1,3]))*2
torch.nested.nested_tensor_from_jagged(V,off,torch.tensor([1,3])).mean(1)
torch.nested.nested_tensor_from_jagged(V,off,torch.tensor([1,3])).softmax(1)
torch.nested.nested_tensor_from_jagged(V,off,torch.tensor([1,3])).clone()
torch.nested.nested_tensor_from_jagged(V)
torch.nested.nested_tensor_from_jagged(V,[0,2])
torch.nested.nested_tensor_from_jagged(V.t(),off,jagged_dim=2)
torch.nested.nested_tensor_from_jagged(V,off).shape[1]==torch.nested.nested_tensor_from_jagged(V,off).shape[1]
torch.nested.nested_tensor_from_jagged(V.t(),off,jagged_dim=2).to_padded_tensor(0.)
nt.to_padded_tensor(0.,(2,3,3))
nt.to_padded_tensor(0.,(2,8,4))
nt+torch.ones(2,1,3)
(nt+torch.arange(2.).view(2,1,1)).values()
nt+torch.ones(2,4,3)
nt+torch.ones(1,1,3)
nt+torch.ones(1,2,3)
nt+torch.ones(2,6,3)
torch.ones(3)+nt
torch.ones(2,1,1)*nt
nt+torch.ones(1,2,1,3)
nt.sum(1).shape
nt.softmax(0)
nt.sum((0,1,2))
nt.sum((0,1),keepdim=True)
nt.mean(0)
nt.transpose(1,2).sum(1)
nt.transpose(1,2).sum(2)
nt.transpose(1,2).values()
nt.transpose(1,2)+nt.transpose(1,2)
nt.transpose(1,2)@nt
nt.transpose(1,2) @ torch.ones(2,3)
nt.transpose(1,2).to_padded_tensor(0.)
nt.transpose(1,2).unbind()
F.layer_norm(nt,(2,3))
F.layer_norm(nt.transpose(1,2),(3,))
F.linear(nt.transpose(1,2),torch.ones(2,3))
F.scaled_dot_product_attention(nt.unsqueeze(1),nt.unsqueeze(1),nt.unsqueeze(1))
F.scaled_dot_product_attention(*[nt.view(2,-1,1,3).transpose(1,2)]*3)
F.scaled_dot_product_attention(*[nt.view(2,-1,1,3).transpose(1,2)]*3).transpose(1,2)
F.scaled_dot_product_attention(*[nt.view(2,-1,1,3).transpose(1,2)]*3).transpose(1,2).flatten(-2)
F.scaled_dot_product_attention(*[nt.view(2,-1,1,3).transpose(1,2)]*3,attn_mask=torch.ones(2))
F.scaled_dot_product_attention(nt,a,a)
nt.view(2,-1,3).shape
nt.flatten(1,2)
nt.flatten(0,1)
nt.flatten(2,2)
nt.unflatten(1,[2,2])
nt.unflatten(0,[2,1])
nt.max(1)
nt.max(-1)
nt.min(2)
nt.any(1)
nt.all(-1)
nt.argmax(1)
torch.cat([nt,x.clone()],2).values()
torch.stack([nt,nt],-1)
torch.stack([nt,nt],1)
nt.squeeze(0)
nt.squeeze(1)
nt.unsqueeze(-1).squeeze(-1).shape
nt.expand(2,-1,3)
nt.expand(-1,-1,-1)
nt.unsqueeze(-1).expand(2,-1,3,4)
nt.permute(0,1,2)
nt.permute(1,0,2)
nt.movedim(1,2)
nt.narrow(2,0,2)
nt.narrow(1,0,2)
nt.select(1,0)
nt.select(2,0)
nt[:,:,0:2]
nt[:,1:]
nt[...,0]
nt[:]
nt[:,:,None]
nt[0:2]
nt.split([1,1],0)
nt.split(1,0)
nt.chunk(3,1)
nt.chunk(1,0)
nt.to(dtype=torch.float16).dtype
nt.cpu() is nt
nt.type()
nt.float() is nt
F.softmax(nt,dim=-1).values()
torch.log_softmax(nt,-1)
torch.log_softmax(nt,1)
torch.where(nt>2,nt,0.).values()
torch.where(nt>2,torch.tensor(1.),nt).values()
torch.clamp(nt,1,2).values()
torch.maximum(nt,nt)
torch.lerp(nt,nt,0.5)
nt.pow(2)
2**nt
-nt
~(nt>2)
nt==x
nt!=2
torch.isclose(nt,nt)
nt.nonzero()
nt.nan_to_num()
nn.ReLU()(nt)
F.silu(nt)
F.softplus(nt)
F.mse_loss(nt,nt)
nt.sum(dtype=torch.float64)
nt.sum(-1,dtype=torch.float64).dtype
nt.sum(1).dtype
copy.deepcopy(nt)
nt.requires_grad_()
nt._max_seqlen
nt._min_seqlen
nt._get_max_seqlen()
nt._maybe_max_seqlen
nt.shape==x.shape
torch.Size(nt.shape)
nt.size(1)==x.size(1)
nt.is_sparse
nt.ndim
nt.nbytes
isinstance(nt,torch.Tensor)
torch.is_tensor(nt)
nt.add_(torch.ones(3)).values()
nt.values().shape
nt.offsets() is nt._offsets
nt.new_ones(())
nt.new_zeros(())
nt.sin_()
torch.rand_like(nt,dtype=torch.float64).dtype
torch.randint_like(nt,3).dtype
torch.zeros_like(nt,layout=torch.strided)
nt.view(torch.int32)
nt.view(2,x.shape[1],3).shape
nt.reshape(2,-1,3,1).shape
nt.view(2,3,-1)
nt.view(3,-1)
nt.mT.shape
nt.unsqueeze(2).shape
nt.unsqueeze(1).transpose(1,2).shape
nt.unsqueeze(1)._ragged_idx
(nt * 2 + torch.ones(3)).sum(1)
attended(nt).values()
attended(longer).values()
attended(longer, key=3).values()
gradients(lambda t: t * t)
gradients(lambda t: (t * t).sum(1))
gradients(lambda t: t.sum(-1))
gradients(lambda t: t.mean(1) ** 2)
gradients(lambda t: t.amax(1) ** 2)
gradients(lambda t: t.softmax(-1) ** 2)
gradients(lambda t: t.softmax(1) ** 2)
gradients(lambda t: t.log_softmax(-1) ** 2)
gradients(lambda t: t.transpose(1, 2) ** 2)
gradients(lambda t: t.unflatten(-1, (3, 1)) ** 2)
gradients(lambda t: t.to_padded_tensor(1.0) ** 2)
gradients(lambda t: torch.cat([t, t * 2], -1) ** 2)
gradients(lambda t: t.unbind()[1] ** 2)
gradients(lambda t: t[0] ** 2)
gradients(lambda t: t.values() ** 2)
gradients(lambda t: t.chunk(3, -1)[1] ** 2)
gradients(lambda t: F.layer_norm(t, (3,)) ** 2)
gradients(lambda t: F.rms_norm(t, (3,)) ** 2)
gradients(lambda t: F.linear(t, torch.arange(6.0).reshape(2, 3)) ** 2)
gradients(lambda t: (t @ torch.arange(6.0).reshape(3, 2)) ** 2)
gradients(lambda t: torch.bmm(t, torch.arange(12.0).reshape(2, 3, 2)) ** 2)
gradients(lambda t: F.gelu(t) * t.sigmoid())
gradients(lambda t: t.masked_fill(t > 3, 0.0) * t)
gradients(lambda t: torch.where(t > 3, t, t * 2))
gradients(lambda t: (t + torch.arange(6.0).reshape(2, 1, 3)) ** 2)
gradients(lambda t: t.clone().mul_(3))
gradients(lambda t: attended(t))
weights(lambda w: nt * w)
weights(lambda w: F.linear(nt, w.reshape(1, 3)))
weights(lambda w: nt + w.reshape(1, 1, 3).expand(2, 1, 3))
weights(lambda w: F.layer_norm(nt, (3,), w))
weights(lambda w: F.embedding(numbers, w.reshape(3, 1)))
weights(lambda w: torch.nested.as_nested_tensor([w * 2, w[:2] * 3], layout=torch.jagged) ** 2)
weights(lambda w: torch.nested.nested_tensor_from_jagged(w * 2, off3) ** 2)
weights(lambda w: torch.nested.nested_tensor([w * 2, w[:2] * 3], layout=torch.jagged))
""".strip().splitlines()


def _told(torch: Any, value: Any, numbers: dict[str, str]) -> Any:
    if isinstance(value, torch.Tensor):
        if value.is_nested:
            size = re.sub(r"j[0-9]+", lambda m: numbers.setdefault(m[0], f"j{len(numbers)}"), str(tuple(value.shape)))
            facts = [size, value.offsets().tolist(), value.is_contiguous(), value._ragged_idx, str(value.dtype)]
            lengths = None if value.lengths() is None else value.lengths().tolist()
            return ["nested", *facts, lengths, value.requires_grad, _numbers(value.detach().values())]
        return [list(value.shape), str(value.dtype), _numbers(value.detach())]
    if isinstance(value, (tuple, list)) and not isinstance(value, torch.Size):
        return [_told(torch, one, numbers) for one in value]
    return re.sub(r"j[0-9]+", lambda m: numbers.setdefault(m[0], f"j{len(numbers)}"), str(value))


def _numbers(tensor: Any) -> Any:
    return [round(float(n), 5) + 0.0 for n in tensor.reshape(-1).tolist()]


def answers(torch: Any) -> dict[str, Any]:
    """What each program gives: a description of its value, or the error's type and the begin of its words."""
    found: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for program in EXPRESSIONS:
            names: dict[str, Any] = {"torch": torch, "copy": copy}
            exec(PRELUDE, names)  # noqa: S102 - the program above
            try:
                found[program] = _told(torch, eval(program, names), {})  # noqa: S307 - the programs above
            except (RuntimeError, ValueError, TypeError, AttributeError, IndexError, AssertionError) as error:
                said = re.sub(r"j[0-9]+", "j", str(error).partition("\n")[0])
                kind = type(error).__name__
                found[program] = [kind, said.partition(": not supp")[0][:100]]
    return found
