"""``functorch.experimental``: names that ``torch.func`` has, and ``vmap`` by the number of chunks."""

from mindtorch._functorch.apis import chunk_vmap as chunk_vmap
from mindtorch.func import functionalize as functionalize
from mindtorch.func import hessian as hessian
from mindtorch.func import jacfwd as jacfwd
from mindtorch.func import jvp as jvp
from mindtorch.func import replace_all_batch_norm_modules_ as replace_all_batch_norm_modules_
