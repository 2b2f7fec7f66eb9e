"""Decompositions of tensors by tensorly's torch backend, with a gradient through one."""

import tensorly as tl
import torch
from tensorly.decomposition import non_negative_parafac, parafac, partial_tucker, tensor_train, tucker


def program():
    tl.set_backend("pytorch")
    torch.manual_seed(0)
    x = torch.rand(4, 5, 6, dtype=torch.float64)
    yield "cp", tl.cp_to_tensor(parafac(x, 3, init="svd", n_iter_max=20))
    yield "non negative", tl.cp_to_tensor(non_negative_parafac(x, 2, init="svd", n_iter_max=10))
    core, factors = tucker(x, [2, 3, 2], init="svd", n_iter_max=10)
    yield "tucker", tl.tucker_to_tensor((core, factors))
    yield "partial", partial_tucker(x, rank=[2, 2], modes=[0, 1])[0][0].norm()
    yield "train", tl.tt_to_tensor(tensor_train(x, [1, 3, 3, 1]))
    weights = [torch.rand(size, 2, dtype=torch.float64, requires_grad=True) for size in x.shape]
    optimizer = torch.optim.Adam(weights, lr=0.05)
    for step in range(5):
        optimizer.zero_grad()
        loss = tl.norm(tl.cp_to_tensor((None, weights)) - x, 2) ** 2
        loss.backward()
        optimizer.step()
        yield f"loss {step}", loss
    yield "unfolded", tl.unfold(x, 1).stride()
    yield "khatri rao", tl.tenalg.khatri_rao([w.detach() for w in weights])
