"""Programs on nested tensors of the strided layout; `make_nested_strided.py` records what PyTorch makes of them."""

from __future__ import annotations

import random
import warnings
from typing import Any

#: What every expression finds; `torch` is whichever is asked.
PRELUDE = """
F = torch.nn.functional
nt = torch.nested.nested_tensor([torch.arange(6.0).view(2, 3), torch.arange(12.0).view(4, 3)])
ntg = torch.nested.nested_tensor([torch.arange(6.0).view(2, 3), torch.arange(12.0).view(4, 3)], requires_grad=True)
nc = nt.transpose(1, 2)
e = torch.nested.nested_tensor([])
s = torch.nested.nested_tensor([torch.tensor(1.0), torch.tensor(2.0)])
n4 = torch.nested.nested_tensor([torch.arange(24.0).view(2, 3, 4), torch.arange(36.0).view(3, 3, 4)])
x = torch.arange(6.0).view(2, 3)
y = torch.arange(24.0).view(2, 3, 4).transpose(1, 2)
z = torch.nested.as_nested_tensor(x, layout=torch.strided)
"""

#: Expressions whose value, or error, is recorded.
EXPRESSIONS = r"""
nt.layout
nt.is_nested
nt.shape
nt.size()
nt.size(0)
nt.size(1)
nt.size(-1)
nt.size(3)
len(nt)
len(e)
nt.stride()
nt.stride(0)
nt.ndim
nt.numel()
nt.storage_offset()
nt._nested_tensor_size()
nt._nested_tensor_strides()
nc._nested_tensor_size()
nc._nested_tensor_strides()
nt.values()
nc.values()
nt[0]
nt[0].requires_grad
ntg
ntg*2
nt.tolist()
nt.numpy()
nt.item()
nt.sum()
nt.sum(2,keepdim=True)
nt.sum(2)
nt.mean()
nt.mean(2,keepdim=True)
nt.mean(-1)
nt.max()
nt.exp()
nt.log()
nt.sqrt()
nt.sigmoid()
nt.add(1)
nt+1
1+nt
nt-1
nt*2
nt/2
nt//2
nt**2
nt+nt
nt-nt
nt*nt
nt/nt
nt==nt
nt==1
nt>1
nt>=1
nt<1
nt!=1
nt<nt
nt+torch.tensor(1.)
torch.tensor(1.)+nt
nt*torch.tensor(1.)
nt+torch.ones(3)
nt+torch.ones(2,1,3)
nt*torch.ones(2,1,3)
nt+torch.ones(2,4,3)
torch.equal(nt,nt)
torch.allclose(nt,nt)
nt.clamp(0,1)
nt.abs()
nt.isnan()
nt.isinf()
nt.logical_not()
torch.where(nt>1,nt,nt)
nt.masked_fill(nt>1,0)
F.relu(nt)
F.silu(nt)
F.gelu(nt)
F.selu(nt)
F.leaky_relu(nt)
F.elu(nt)
nc.relu()
nc.exp()
nc+nc
nc+nt
nt.flatten(1)
nt.permute(0,2,1)
nt.mT
nt.T
nt.t()
nt.view(2,-1,3)
nt.reshape(2,-1,1,3)
nt.reshape(2,-1)
nt.view(2,-1)
nt.view(-1,3)
nt.expand(2,-1,3)
nt.squeeze(1)
nt.unsqueeze(0)
nt.unsqueeze(4)
nt.unsqueeze(1)
torch.cat([nt,nt])
torch.cat([nt,nt],2)
torch.stack([nt,nt])
nt.chunk(3,-1)
nt.chunk(3,1)
nt.split([1,2],-1)
nt.split_with_sizes([1,2],-1)
nt.split(1,-1)
nt.narrow(0,0,1)
nt.select(0,1)
nt.select(2,1)
nt.select(1,0)
nt.select(1,3)
nt[:]
nt[0:1]
nt[...]
nt[None]
nt[0,1]
nt[:,0]
nt[torch.tensor([0])]
nt[True]
nt.unbind(1)
nt.index_select(0,torch.tensor([0]))
nt.clone()
nt.clone(memory_format=torch.channels_last)
nt.contiguous() is nt
nc.contiguous()
nc.is_contiguous()
nt.detach()
nt.to(torch.float64)
nt.double()
nt.long()
nt.cpu() is nt
nt.zero_()
nt.fill_(3)
nt.copy_(nt)
nt.add_(1)
nt.add_(nt)
nt.mul_(2)
torch.zeros_like(nt)
torch.ones_like(nt)
torch.full_like(nt,2)
torch.zeros_like(nc)._nested_tensor_strides()
torch.zeros_like(nc)
nc.clone()._nested_tensor_strides()
nt.new_zeros(2)
nt.new_empty(2)
nt.softmax(-1)
nt.softmax(1)
nt.softmax(0)
nt.log_softmax(-1)
nc.softmax(-1)
F.layer_norm(nt,(3,))
F.layer_norm(nc,(3,))
F.layer_norm(nt,(4,))
F.layer_norm(nt,(2,3))
F.linear(nt,torch.ones(4,3))
F.linear(nc,torch.ones(4,3))
F.linear(nt,torch.ones(4,3),torch.ones(4))
nt@torch.ones(3,2)
nt@torch.ones(2,3,2)
nt@nc
torch.bmm(nt,nc)
torch.bmm(nt,nt)
nt.matmul(nt)
F.scaled_dot_product_attention(nt,nt,nt)
F.scaled_dot_product_attention(nt,nt,nt,is_causal=True)
F.embedding(nt.long().clamp(0,2),torch.ones(3,2))
nt.is_same_size(nt)
torch.is_same_size(nt,nc)
nt.to_padded_tensor(0)
nt.to_padded_tensor(0,(3,5,5))
nt.to_padded_tensor(0,(2,5,5))
nt.to_padded_tensor(0,(2,1,5))
nt.to_padded_tensor(0,(2,5))
e.to_padded_tensor(1)
nc.to_padded_tensor(1)
nt.dtype
e
s
nt.any()
nt.all()
nt.cumsum(1)
nt.sort()
nt.argmax()
nt.norm()
nt.element_size()
nt.is_floating_point()
nt.requires_grad
nt.is_leaf
nt.device
list(nt)
nt.nbytes
nt.is_pinned()
nt.bernoulli_()
nt.dot(nt)
bool(nt)
nt.tril()
nt.view_as(nt)
nt.sgn()
nt.neg()
nt.sin()
nt.cos()
nt.tanh()
nt.reciprocal()
torch._nested_tensor_from_tensor_list([torch.ones(2),torch.ones(3)])
torch.nested.nested_tensor([torch.ones(2),torch.ones(3,2)])
torch.nested.nested_tensor([torch.ones(2),torch.ones(3).long()])
torch.nested.nested_tensor([torch.ones(2),torch.ones(3).long()],dtype=torch.float64)
torch.nested.nested_tensor([[1,2],[3.]])
torch.nested.nested_tensor([[1,2],[3]])
torch.nested.as_nested_tensor(torch.ones(2,3))
torch.nested.as_nested_tensor(torch.ones(2,3),layout=torch.strided)
torch.nested.as_nested_tensor(nt)
torch.nested.as_nested_tensor(nt) is nt
torch.nested.as_nested_tensor(nt,layout=torch.jagged)
torch.nested.as_nested_tensor(torch.ones(2))
torch.nested.as_nested_tensor(torch.tensor(2))
torch.nested.as_nested_tensor(3)
torch.nested.nested_tensor(torch.ones(3))
torch.nested.nested_tensor(4.)
torch.nested.nested_tensor([torch.ones(2)],layout=torch.sparse_coo)
torch.nested.narrow(torch.arange(12).view(2,6),1,torch.tensor([0,1]),torch.tensor([2,3]))
torch.nested.narrow(torch.arange(12).view(2,6),0,0,1)
torch._nested_from_padded(torch.ones(2,4,3),torch.tensor([[2,3],[4,3]]))
torch._nested_from_padded(torch.ones(2,2,4,3),torch.tensor([[2,6],[4,6]]),True)
torch._nested_from_padded_and_nested_example(torch.ones(2,4,3),nt)
torch._nested_tensor_from_mask(torch.ones(2,4,3),torch.tensor([[True,True,False,False],[True,True,True,True]]))
torch._nested_tensor_from_mask(torch.ones(2,4,3),torch.tensor([[True,False,True,False],[True,True,True,True]]))
torch._nested_tensor_from_mask_left_aligned(torch.ones(2,4,3),torch.tensor([[True,False,True,False],[True,True,True,True]]))
torch._nested_view_from_buffer(torch.arange(6.),torch.tensor([[2],[4]]),torch.tensor([[1],[1]]),torch.tensor([0,2]))
torch.nested.as_nested_tensor(nt,layout=torch.strided) is nt
torch.nested.as_nested_tensor(nt,layout=torch.strided,dtype=torch.float64).dtype
torch.nested.as_nested_tensor(y,layout=torch.strided)._nested_tensor_strides()
torch.nested.as_nested_tensor(y,layout=torch.strided).values()
torch._nested_tensor_from_tensor_list([torch.ones(2)],dtype=torch.float64)
torch.nested.nested_tensor([torch.ones(2)],dtype=torch.int64,requires_grad=True)
torch.nested.nested_tensor([torch.ones(2,dtype=torch.float64)])
torch.nested.nested_tensor((torch.ones(2),))
torch.nested.nested_tensor([1,2])
torch.nested.nested_tensor([[[1,2],[3,4]],[[5,6]]])
torch.nested.as_nested_tensor((torch.ones(2),torch.ones(3)))
torch.nested.as_nested_tensor([[1,2],[3]])
torch.nested.as_nested_tensor([])
e.values()
e.numel()
e[0]
e+1
e*e
e.softmax(0)
e.unbind()
e.transpose(0,1)
e.sum(0,keepdim=True)
e.clone()
e.to(torch.float64)
e.is_contiguous()
torch.zeros_like(e)
e.to_padded_tensor(0,(1,2))
torch.nn.functional.dropout(e,0.5)
s.values()
s._nested_tensor_size()
s._nested_tensor_strides()
s.size(0)
s+1
s.softmax(0)
s.softmax(1)
s[0]
n4@torch.ones(4,2)
n4@torch.ones(2,4,2)
n4@torch.ones(3,4,2)
n4@torch.ones(4)
torch.ones(2,2)@n4
n4.transpose(1,2)@torch.ones(4,2)
n4.sum(1,keepdim=True)
n4.sum([1,2],keepdim=True)
n4.sum(-1,keepdim=True,dtype=torch.float64)
torch.nn.functional.layer_norm(n4,(3,4),torch.ones(3,4),torch.zeros(3,4)).size(2)
torch.nn.functional.layer_norm(n4,(2,4),torch.ones(2,4),torch.zeros(2,4))
torch.nn.functional.layer_norm(n4,(2,3,4),torch.ones(2,3,4),torch.zeros(2,3,4))
torch.nn.functional.layer_norm(n4,(2,2,3,4),torch.ones(2,2,3,4),torch.zeros(2,2,3,4))
torch.nn.functional.layer_norm(n4.transpose(2,3),(3,),torch.ones(3),torch.zeros(3))
torch.nn.functional.layer_norm(n4,(),torch.ones(()),torch.zeros(()))
torch.nn.functional.embedding(torch.nested.nested_tensor([torch.tensor([1,2]),torch.tensor([0])]),torch.arange(6.).view(3,2))
torch.nn.functional.embedding(torch.nested.nested_tensor([torch.tensor([[1,2]]),torch.tensor([[0]])]),torch.arange(6.).view(3,2))
torch.nn.functional.embedding(torch.tensor([0]),nt)
torch.where(torch.tensor(True),torch.tensor(1.),nt)
torch.where(nt>1,torch.tensor(1.),nt)
torch.where(nt>1,1.,nt)
nt.add(nt,alpha=2)
nt.sub(1,alpha=3)
1-nt
1/nt
nt/torch.tensor(2)
torch.tensor(2)/nt
torch.tensor(2.)-nt
nt+1j
nt.long()/2
nt.long()+1.5
nt>torch.tensor(1.)
nt==torch.tensor(1.)
nt==torch.ones(3)
nt.masked_fill(nt>1,torch.tensor(0.))
nt.masked_fill(torch.tensor(True),0)
nt.masked_fill_(nt>1,0)
nt.add_(nt,alpha=2)
nt.sub_(nt)
nt.div_(2)
nt.neg_()
nt.abs_()
nt.sin_()
nt.relu_()
nt.mul_(torch.ones(3))
torch.tensor(1.).mul_(nt)
torch.ones(3).mul_(nt)
torch.tensor(1.).add_(nt)
nt.mT.mul_(2)
nt
nt.transpose(0,1)
nt.squeeze()
nt.squeeze(0)
nt.squeeze(3)
nt.squeeze((1,2))
nt.narrow(1,0,1)
nt.narrow(0,0,3)
nt.narrow(0,-1,1)
nt.narrow(0,3,0)
nt.mT.narrow(0,0,1)
nt.chunk(2,-1)
nt.chunk(0,-1)
nt.chunk(3,0)
nt.mT.chunk(2,-1)
nt.split_with_sizes([1,1],-1)
nt.split_with_sizes([],-1)
nt.split_with_sizes([1,2],0)
nt.split_with_sizes([1,2],1)
nt.split([1,2],1)
nt.mT.view(2,3,-1)
nt.mT.view(2,-1,1,3)
nt.mT.reshape(2,-1,1)
nt.view(2,-1,-1)
nt.view(2,-1,-2)
nt.view(())
nt.view(2,2,3)
nt.view(-1,2,3)
nt.view(2,3,-1)
nt.view(2,-1,3,1)
nt.view(2,1,1,-1)
nt.view(2,-1,1,-1)
e.view(-1)
nt.view(torch.int32)
nt.reshape_as(nt)
nt.select(0,2)
nt.select(1,-3)
nt[2]
nt[-3]
nt[0,:,1]
nt[0,...]
nt[...,0]
nt[0,5]
nt.mT.to_padded_tensor(0)
nt.mT.contiguous()._nested_tensor_strides()
nt.mT.clone(memory_format=torch.contiguous_format)._nested_tensor_strides()
nt.chunk(3,-1)[1].clone()._nested_tensor_strides()
nt.chunk(3,-1)[1].clone().values()
nt.chunk(3,-1)[1].values()
nt.chunk(3,-1)[1]+nt.chunk(3,-1)[1]
(nt.chunk(3,-1)[1]+nt.chunk(3,-1)[1])._nested_tensor_strides()
nt.chunk(3,-1)[0]+nt.chunk(3,-1)[1]
nt.chunk(3,-1)[0]*nt.chunk(3,-1)[1]
nt.mT*nt.mT
(nt.mT*2)._nested_tensor_strides()
nt.mT==1
nt.mT*nt
torch.nested.nested_tensor([torch.ones(3,2),torch.ones(3,4)])*nt.mT
torch.nested.nested_tensor([torch.ones(3,2),torch.ones(3,4)])+nt.mT
nt.mT+torch.nested.nested_tensor([torch.ones(3,2),torch.ones(3,4)])
torch.nested.nested_tensor([torch.ones(3,2)])+nt
torch.nested.nested_tensor([torch.ones(3,2)])*nt
torch.cat([nt,torch.ones(2,3)])
torch.cat([nt,n4])
torch.cat([nt,n4],-1)
torch.cat([nt.mT,nt.mT],-1)
torch.cat([n4,n4],2)
torch.cat([nt,nt],5)
torch.cat([nt.mT.contiguous(),nt.mT.contiguous()],1)
torch.nn.functional.scaled_dot_product_attention(nt,nt,torch.ones(2,3,3))
torch.nn.functional.scaled_dot_product_attention(nt,nt,nt,attn_mask=nt)
torch.nn.functional.scaled_dot_product_attention(nt,nt,nt,scale=2.)
torch.nn.functional.scaled_dot_product_attention(n4,n4,n4)
nt.is_contiguous(memory_format=torch.channels_last)
torch.zeros_like(nt,dtype=torch.int64)
nt.fill_(torch.tensor([1.]))
nt.copy_(torch.ones(3))
torch.ones(3).copy_(nt)
nt.copy_(nt.mT)
nt.exp_()
nt.pow(2)
nt.isneginf()
nt.isposinf()
torch.nn.functional.silu(nt,inplace=True)
torch.nn.functional.gelu(nt,approximate='tanh')
torch.nested.to_padded_tensor(torch.ones(2),0)
torch._nested_tensor_from_mask(torch.ones(2,4,3),torch.ones(2,4))
torch._nested_tensor_from_mask(torch.ones(2,4),torch.ones(2,4)>0)
torch._nested_tensor_from_mask(torch.ones(2,4,3),torch.ones(2,3)>0)
torch._nested_tensor_from_mask(torch.ones(2,4,3),torch.ones(2)>0)
torch._nested_from_padded(torch.ones(2,4,3),torch.tensor([[5,3],[4,3]]))
torch.nested.nested_tensor([torch.ones(1,0),torch.ones(0,0)]).to_padded_tensor(0)
torch.nested.nested_tensor([torch.ones(1,0),torch.ones(0,0)])
torch.nested.nested_tensor([torch.ones(2,3),torch.ones(0,3)])._nested_tensor_strides()
torch.nested.nested_tensor([torch.ones(1,0),torch.ones(2,0)])._nested_tensor_strides()
torch.nested.nested_tensor([torch.ones(2,0,3),torch.ones(2,0,3)])._nested_tensor_strides()
nt.H
nt.mH
nt.adjoint()
nt.swapaxes(1,2)
nt.movedim(1,2)
nt.grad
nt.is_complex()
nt.retain_grad()
""".strip().splitlines()


def _numbers(tensor: Any) -> Any:
    return [round(float(n), 4) + 0.0 for n in tensor.detach().double().reshape(-1).tolist()]


def _told(torch: Any, value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        if value.is_nested:
            facts = [
                value._nested_tensor_size().tolist() if value.size(0) else [],
                str(value.dtype),
                value.requires_grad,
            ]
            return ["nested", *facts, [_numbers(part) for part in value.detach().unbind()]]
        return [list(value.shape), str(value.dtype), _numbers(value)]
    if isinstance(value, (tuple, list)) and not isinstance(value, torch.Size):
        return [_told(torch, one) for one in value]
    return str(value)


def _error(error: Exception) -> list[str]:
    said = str(error).partition("\n")[0].partition(" with arguments from")[0]
    return [type(error).__name__, said[:120]]


_ERRORS = (RuntimeError, ValueError, TypeError, AttributeError, IndexError, ArithmeticError)


def answers(torch: Any) -> dict[str, Any]:
    """What each expression gives: a description of its value, or the error's type and the begin of its words."""
    found: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        names: dict[str, Any] = {}
        before = ""
        for program in EXPRESSIONS:
            if not names or "_(" in before or "ntg" in before:  # written to
                names = {"torch": torch}
                exec(PRELUDE, names)  # noqa: S102 - the program above
            before = program
            try:
                found[program] = _told(torch, eval(program, names))  # noqa: S307 - the programs above
            except _ERRORS as error:
                found[program] = _error(error)
    return found


#: Steps of random programs: `t` is what has been made so far, `w` numbers of its sizes, `k` a random number.
STEPS = """
-t
t.abs()
t.sin()
t.relu()
t.sgn()
t.cos()
t.tanh()
F.silu(t)
F.gelu(t)
(t * t).sqrt()
t * 2
t / 3
t + 1
1 - t
t * w
t + w
w - t
t / (w * w + 1)
t * t
t.transpose(1, 2)
t.transpose(-1, -2)
t.unsqueeze(1 + k % t.dim())
t.squeeze(1 + k % (t.dim() - 1))
t.contiguous()
t.clone()
t.select(1 + k % (t.dim() - 1), 0)
t.chunk(2, -1)[k % 2]
t.split_with_sizes([1, t.size(-1) - 1], -1)[k % 2]
t.narrow(0, k % 2, 1)
t.reshape(t.size(0), -1, 1, t.size(-1))
t.view(t.size(0), -1, t.size(-1))
t.sum(-1, keepdim=True)
t.softmax(-1)
t.softmax(1)
F.layer_norm(t, (t.size(-1),), torch.ones(t.size(-1)) * 2, torch.ones(t.size(-1)))
F.linear(t, torch.arange(2.0 * t.size(-1)).reshape(2, -1) / 7, torch.ones(2))
torch.bmm(t, t.transpose(1, 2))
torch.matmul(t, t.transpose(-1, -2))
t @ torch.ones(t.size(-1), 2)
F.scaled_dot_product_attention(t, t, t)
torch.cat([t, t * 2])
torch.cat([t, t], -1)
t.masked_fill(t > 0.5, 2.0)
t.masked_fill(t == 1, 0.0)
t.clone().mul_(2)
t.clone().add_(t)
torch.nested.as_nested_tensor([part * part for part in t.unbind()])
torch.nested.as_nested_tensor(list(t.unbind())[::-1])
torch.ones_like(t) * t
""".strip().splitlines()


def _some(torch: Any, chance: random.Random, sizes: list[list[int]]) -> list[Any]:
    def one(size: list[int]) -> Any:
        count = 1
        for n in size:
            count *= n
        return torch.tensor([round(chance.uniform(-2, 2), 3) for _ in range(count)]).reshape(size)

    return [one(size) for size in sizes]


def random_program(torch: Any, seed: int, steps: list[Any] | None = None) -> dict[str, Any]:
    """A program of steps, or of random ones: what each makes, and the gradient of the result with regard to the parts.

    Of random ones, those are kept that PyTorch carries out.
    """
    chance = random.Random(seed)
    rank, count = chance.choice([1, 2, 2, 2, 3]), chance.choice([2, 2, 3])
    regular = [chance.randint(1, 4) for _ in range(rank)]
    ragged = chance.choice([[0], [0], [rank - 1], list(range(rank))])
    sizes = [[chance.randint(1, 4) if d in ragged else regular[d] for d in range(rank)] for _ in range(count)]
    leaves = [part.requires_grad_() for part in _some(torch, chance, sizes)]
    t, made = torch.nested.as_nested_tensor(leaves), []
    asked = (
        [(chance.choice(STEPS), chance.randrange(12)) for _ in range(chance.choice([3, 4, 5, 9]))]
        if steps is None
        else steps
    )
    taken = []
    for step, k in asked:
        w = torch.nested.nested_tensor(_some(torch, random.Random(seed + k), t._nested_tensor_size().tolist()))
        names = {"torch": torch, "F": torch.nn.functional, "t": t, "w": w, "k": k}
        try:
            found = eval(step, names)  # noqa: S307 - one of the steps above
        except _ERRORS:
            if steps is not None:
                raise
            continue
        if found.dim() < 2:
            continue
        t = found
        taken.append([step, k])
        made.append(_told(torch, t))
    try:
        sum((part * part).sum() for part in t.contiguous().unbind()).backward()
        gradients = [None if leaf.grad is None else _numbers(leaf.grad) for leaf in leaves]
    except _ERRORS:
        if steps is not None:
            raise
        gradients = None  # PyTorch has none
    return {"steps": taken, "made": made, "gradients": gradients}
