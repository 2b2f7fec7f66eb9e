"""Calls in which an override takes part, and what it is told: shared by the test and by the script of its snapshot."""

from __future__ import annotations

from typing import Any

#: `x` is a tensor of a subclass, `img` another of four dimensions, `d` a value of a class that is no tensor but has
#: ``__torch_function__``; `p` and `ind` are plain tensors.
CALLS = """
torch.add(x,p)
torch.add(x,other=p)
torch.add(input=x,other=p,alpha=1)
x.add(p)
x+p
p+x
x+1
1+x
2-x
2/x
2//x
2**x
2%x
x@p
p@x
x-p
x/p
x//p
x%p
x**2
x==p
x<p
-x
+x
~x.bool()
abs(x)
x.__radd__(1)
x.__iadd__(1)
x[0]
x[0:1,None]
x.__setitem__(0,1)
p[x.long()]
p.__setitem__(0,x[0])
x.shape
x.size()
x.size(0)
x.dim()
x.dtype
x.device
x.requires_grad
x.grad
x.T
x.data
x.is_leaf
x.layout
len(x)
repr(x)
x.tolist()
x.numpy()
x.sum().item()
bool(x.sum())
float(x.sum())
list(x)
x.split(1)
torch.split(x,1)
x.max(0)
torch.cat([x,p])
torch.cat((p,x),dim=0)
torch.stack([x,p],0)
torch.einsum('ij,jk->ik',x,p)
torch.einsum('ij,jk->ik',[x,p])
torch.softmax(x,-1)
F.softmax(x,-1)
F.relu(x)
F.relu(x,inplace=True)
F.gelu(x)
F.linear(x,p)
F.linear(x,p,bias=None)
F.layer_norm(x,(2,))
F.cross_entropy(x,torch.tensor([0,1]))
F.conv2d(x[None,None],p[None,None])
F.max_pool2d(x[None,None],2)
F.dropout(x,0.5,True)
F.pad(x,(1,1))
F.one_hot(x.long())
F.interpolate(x[None,None],scale_factor=2)
F.scaled_dot_product_attention(x,x,x)
torch.zeros_like(x)
torch.empty_like(x)
x.new_zeros(3)
x.new_tensor([1])
torch.tensor(x)
torch.as_tensor(x)
x.to(torch.float64)
x.float()
x.double()
x.cpu()
x.clone()
x.detach()
x.contiguous()
x.view(-1)
x.view(4,1)
x.reshape(4)
x.permute(1,0)
x.t()
x.type()
x.requires_grad_()
torch.unique(x)
x.unique()
torch.norm(x)
x.norm()
torch.where(p>0,x,p)
torch.add(p,p,out=x)
p.add_(x)
p.copy_(x)
x.copy_(p)
torch.allclose(x,p)
torch.equal(x,p)
torch.is_tensor(x)
torch.is_floating_point(x)
torch.numel(x)
torch.broadcast_tensors(x,p)
torch.meshgrid(x[0],p[0])
torch.chunk(x,2)
torch.linalg.norm(x)
torch.linalg.svd(x)
torch.special.expit(x)
torch.fft.fft(x)
torch.bitwise_and(x.long(),1)
torch.nn.Linear(2,2)(x)
torch.nn.init.zeros_(x)
x.storage_offset()
x.stride()
x.__array__()
hash(x)
x.is_cuda
x.ndim
x.itemsize
x.real
x.mT
x.grad_fn
torch.add(d,p)
torch.add(p,d)
p+d
d+p
p@d
p-d
p*d
p/d
p==d
p.add(d)
p.add_(d)
p.copy_(d)
p[d]
p.__setitem__(0,d)
p.__setitem__(d,1)
torch.cat([p,d])
torch.stack([p,d])
torch.split(d,1)
torch.einsum('i,j',p[0],d)
torch.where(d,p,p)
F.linear(d,p)
F.softmax(d,-1)
torch.zeros_like(d)
torch.mean(d)
torch.sum(d,dim=1)
torch.max(d,1)
torch.tensor(d)
p.view_as(d)
p.type_as(d)
p.to(d)
torch.add(p,p,out=d)
torch.add(p,1,alpha=d)
torch.sum(p,dim=d)
p.sum(d)
torch.zeros(d)
torch.full((2,),d)
p.expand(d)
p.reshape(d)
torch.clamp(p,min=d)
F.dropout(d)
F.one_hot(d)
F.relu(d)
torch.nonzero(x)
x.nonzero()
x.item()
x.sum().tolist()
x.numel()
x.nelement()
x.element_size()
x.is_floating_point()
x.is_contiguous()
x.is_complex()
x.get_device()
x.type_as(p)
x.bfloat16()
x.half()
x.int()
x.to('cpu')
x.to(p)
x.nbytes
x.is_meta
x.H
x.mH
x.unbind(0)
torch.unbind(x)
x.chunk(2,dim=1)
x.var(1)
x.std(dim=1,correction=0)
x.topk(1)
x.sort()
x.sort(descending=True)
x.argmax()
x.any()
x.cumsum(0)
x.gather(1,ind[:,None])
x.scatter(1,ind[:,None],1.0)
x.index_select(0,ind)
x.masked_fill(p>0,0.)
x.expand(2,2)
x.expand((2,2))
x.repeat(1,2)
x.squeeze()
x.unsqueeze(0)
x.flatten()
x.matmul(p)
x.mm(p)
x.pow(2)
x.clamp(min=0)
x.clamp(0,1)
torch.clamp(x,0,1)
torch.zeros(2,dtype=d)
torch.arange(d)
torch.full_like(x,1)
torch.rand_like(x)
x.normal_()
x.uniform_()
x.zero_()
x.fill_(1)
torch.exp(x)
torch.exp(x,out=p)
torch.maximum(p,x)
torch.addmm(p,x,p)
torch.addmm(p,x,p,beta=1)
torch.baddbmm(img[0],img[0],img[0])
torch.bmm(img[0],img[0])
torch.tensordot(x,p)
torch.atleast_1d(x)
torch.cdist(x,p)
torch.isin(x,p)
torch.result_type(x,1)
torch.is_complex(x)
torch.linalg.inv(x+torch.eye(2))
torch.linalg.vector_norm(x)
torch.fft.rfft(x)
torch.special.erf(x)
F.silu(x)
F.log_softmax(x,dim=-1)
F.mse_loss(x,p)
F.mse_loss(p,x)
F.nll_loss(x,ind)
F.embedding(ind,x)
F.batch_norm(img,None,None,training=True)
F.group_norm(img,1)
F.normalize(x)
F.avg_pool2d(img,2)
F.adaptive_avg_pool2d(img,1)
F.adaptive_max_pool2d(img,1)
F.unfold(img,2)
F.cosine_similarity(x,p)
F.tanh(x)
F.sigmoid(x)
F.leaky_relu(x)
F.elu(x)
F.glu(x)
F.hardtanh(x)
F.relu6(x)
F.binary_cross_entropy_with_logits(x,p)
F.kl_div(x,p)
F.smooth_l1_loss(x,p)
F.upsample(img,scale_factor=2)
F.grid_sample(img,torch.zeros(1,2,2,2))
F.affine_grid(torch.zeros(1,2,3).as_subclass(Sub),(1,1,2,2))
F.multi_margin_loss(x,ind)
F.gumbel_softmax(x)
F.rms_norm(x,(2,))
F.bilinear(x,x,torch.ones(1,2,2))
F.pixel_shuffle(img,1)
F.lp_pool2d(img,2,2)
F.instance_norm(img)
F.local_response_norm(img,2)
F.conv1d(img[0],torch.ones(1,2,1))
F.conv_transpose2d(img,torch.ones(2,1,1,1))
torch.relu(x)
x.relu()
x.softmax(0)
x.log_softmax(-1)
x.sigmoid()
x.tanh()
x.where(p>0,p)
x.lerp(p,0.5)
x.addcmul(p,p,value=2)
x.copy_(d)
x.index_put_((ind,),p)
x.tril()
x.diagonal()
x.mean()
x.mean(0)
x.mean(dim=0,keepdim=True)
torch.mean(x,0,True)
torch.mean(input=x,dim=0)
x.__contains__(1)
1 in x
x.__format__('')
x.__reduce_ex__(2)
x.is_shared()
x.dim_order()
x.resolve_conj()
x.conj()
x.output_nr
x.retains_grad
x.is_sparse
x.is_quantized
x._version
x.new_tensor([1.])
x.new_empty(2)
x.new_full((2,),1.)
x.resize_(2,2)
x.lu()
torch.lu(x)
x.tile(2)
torch.tile(x,(2,))
torch.repeat_interleave(x,2)
torch.flip(x,(0,))
torch.roll(x,1)
torch.block_diag(x,p)
torch.cartesian_prod(x[0],p[0])
torch.combinations(x[0])
torch.unique_consecutive(x)
torch.quantile(x,0.5)
torch.histc(x)
torch.searchsorted(x,p)
torch.multinomial(x,1)
torch.bernoulli(x)
torch.normal(x,p)
torch.dropout(x,0.5,True)
torch.layer_norm(x,(2,))
torch.conv2d(img,torch.ones(1,2,1,1))
torch.max_pool2d(img,2)
torch.embedding(x,ind)
torch.stft(x[0],1)
torch.kron(x,p)
torch.trapezoid(x)
torch.vander(x[0])
F.linear(p,x)
F.linear(p,p,bias=x[0])
torch.hstack([x,p])
torch.vstack((p,x))
torch.concat([x])
torch.stack([d])
torch.stack((p,d),dim=0)
torch.cat(tensors=[x,p])
torch.index_select(p,0,ind)
torch.take(d,ind)
torch.sum(d,1,keepdim=True)
torch.einsum('ij->i',d)
torch.norm(d)
F.cross_entropy(d,ind)
F.cross_entropy(p,d)
F.layer_norm(p,(2,),weight=d)
F.pad(d,(1,1))
F.interpolate(d,size=2)
torch.meshgrid(d,d,indexing='ij')
torch.broadcast_tensors(p,d)
torch.split(p,d)
p.split(d)
p.unique(dim=d)
torch.unique(d)
p.new_zeros(d)
p.view(d)
p.permute(d,0)
p.expand_as(d)
p.is_same_size(d)
torch.is_tensor(d)
torch.numel(d)
torch.linalg.norm(d)
torch.fft.fft(d)
torch.special.erf(d)
p.__iadd__(d)
2-x.sum()
d*p
d**p
d//p
d%p
d@p
d-p
d/p
d<p
p//d
p**d
p%d
p&d
p|d
p<<d
x.__rpow__(2)
torch.sigmoid(x,out=p)
torch.max(x,0,out=(p[0],ind))
torch.Tensor.add(x,p)
torch.Tensor.add(p,x)
torch.Tensor.add(p,other=x)
torch.Tensor.sum(x,dim=(0,1))
x.sum((0,1))
x.sum(dim=[0,1])
x.sum(axis=0)
x.add_(1,alpha=2)
x.div(2,rounding_mode='floor')
torch.div(x,2,rounding_mode='floor')
""".strip().splitlines()

SPACES = (
    "torch",
    "torch.Tensor",
    "torch.nn.functional",
    "torch.linalg",
    "torch.special",
    "torch.fft",
    "torch.functional",
)


def what_is_told(torch: Any, call: str, mode: bool = False) -> tuple[str, list[tuple[Any, ...]]]:
    """(kind of the result or of the error, [(function, types, args, kwargs) for everything an override was told])."""
    told: list[tuple[Any, ...]] = []

    class Sub(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            told.append((func, types, args, kwargs))
            return super().__torch_function__(func, types, args, kwargs)

    class Duck:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            told.append((func, types, args, kwargs))
            return 5

    plain = torch.ones(2, 2)
    names = {
        "torch": torch, "F": torch.nn.functional, "Sub": Sub, "p": plain, "x": torch.ones(2, 2).as_subclass(Sub),
        "d": Duck(), "img": torch.ones(1, 2, 4, 4).as_subclass(Sub), "ind": torch.tensor([0, 1]),
    }  # fmt: skip
    told.clear()
    try:
        result = eval(call, names)  # noqa: S307 - the calls above
    except Exception as error:  # noqa: BLE001 - which error it is belongs to what is compared
        return type(error).__name__, told
    return kind_of(result), told


def kind_of(result: Any) -> str:
    """The class of a result, and of its items."""
    if isinstance(result, (tuple, list)) and type(result).__name__ != "Size":
        return f"{type(result).__name__}[{', '.join(type(item).__name__ for item in result)}]"
    return type(result).__name__


def shown(torch: Any, value: Any) -> Any:
    """Arguments in a form that can be stored: tensors by their class, everything else by what it says of itself."""
    if isinstance(value, torch.Tensor) or type(value).__name__ == "Duck":
        return type(value).__name__
    if isinstance(value, torch.Size):
        return list(value)
    if isinstance(value, (tuple, list)):
        return [type(value).__name__, *[shown(torch, item) for item in value]]
    if isinstance(value, dict):
        return {str(key): shown(torch, item) for key, item in value.items()}
    if isinstance(value, type):
        return value.__name__
    return value if isinstance(value, (int, float, str, bool, type(None))) else str(value)


def found_at(torch: Any, path: str) -> Any:
    """What a dotted name means: ``torch.Tensor.shape.__get__``."""
    value = torch
    for part in path.split(".")[1:]:
        value = getattr(value, part)
    return value


def paths_of(torch: Any, function: Any) -> list[str]:
    """Under which dotted names a function is found."""
    found = []
    for space in SPACES:
        owner = found_at(torch, space)
        for name in dir(owner):
            try:
                value = getattr(owner, name)
            except Exception:  # noqa: BLE001 - names that only exist with an accelerator
                continue
            if value is function:
                found.append(f"{space}.{name}")
            elif space == "torch.Tensor" and hasattr(type(value), "__set__"):
                parts = [p for p in ("__get__", "__set__", "__delete__") if getattr(value, p, None) == function]
                found += [f"{space}.{name}.{part}" for part in parts]
    return found
