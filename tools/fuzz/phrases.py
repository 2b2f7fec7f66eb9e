"""What random programs say: lines with slots, by topic.

``{v}`` is a variable, the same all over a line, ``{o}`` another, ``{p}`` something that broadcasts with v; ``{s}`` a
number; ``{d}`` a dimension of v, ``{D}`` the same all over a line; the rest of the slots is in `generator.SLOTS`.
``{a|b|c}`` is one of these; an alternative that is the name of a slot is that slot. A phrase that begins with ``!``
is a statement; of the others the result is assigned to a new variable.
"""

from __future__ import annotations

__all__ = ["PHRASES", "WEIGHTS"]

UNARY = """abs|neg|sign|sgn|exp|expm1|exp2|log|log1p|sqrt|rsqrt|square|reciprocal|sin|cos|tan|atan|sinh|tanh|sigmoid|erf|floor|
ceil|round|trunc|frac|relu|nan_to_num|sinc|logical_not|bitwise_not|deg2rad|conj_physical|digamma|lgamma""".replace(
    "\n", ""
)
BINARY = """add|sub|mul|div|true_divide|floor_divide|remainder|fmod|pow|atan2|maximum|minimum|fmax|fmin|logical_and|logical_or|
logical_xor|bitwise_and|bitwise_or|bitwise_xor|bitwise_left_shift|bitwise_right_shift|eq|ne|lt|le|gt|ge|hypot|copysign|nextafter|
logaddexp|logaddexp2|xlogy|ldexp|gcd|lcm|heaviside|float_power|rsub|dist|isclose|arctan2|multiply|subtract|greater""".replace(
    "\n", ""
)
BINARY_IN_PLACE = """add|sub|mul|div|floor_divide|remainder|fmod|pow|atan2|logical_and|logical_or|logical_xor|bitwise_and|
bitwise_or|bitwise_xor|eq|ne|lt|le|gt|ge|copysign|nextafter|xlogy|gcd|lcm|hypot|float_power|heaviside|ldexp""".replace(
    "\n", ""
)
REDUCED = "sum|mean|prod|amax|amin|all|any|std|var|logsumexp|nansum|nanmean|count_nonzero|norm"
OPERATORS = "+|-|*|/|//|%|**|&|^|<<|>>|==|!=|<|<=|>|>="
ACTIVATIONS = """relu|gelu|silu|softplus|leaky_relu|elu|selu|celu|hardtanh|hardswish|hardsigmoid|relu6|mish|logsigmoid|tanhshrink|
softsign|softshrink|glu|normalize|sigmoid|tanh""".replace("\n", "")
OPTIMIZERS = """SGD([p], lr=0.1, momentum=0.9)|Adam([p], lr=0.1)|AdamW([p], lr=0.1)|RMSprop([p])|Adagrad([p])|Adadelta([p])|NAdam([p])|
RAdam([p])|Adamax([p])|ASGD([p])|Rprop([p])|SGD([p], 0.1, weight_decay=0.1, nesterov=True, momentum=0.5)""".replace(
    "\n", ""
)

VIEWS = """
{v}.view({form})
{v}.reshape({form})
{v}.transpose({d}, {d})
{v}.permute({permutation})
{v}.squeeze()
{v}.squeeze({d})
{v}.squeeze(({d}, {d}))
{v}.unsqueeze({d})
{v}.expand({expanded})
torch.broadcast_to({v}, {expanded})
{v}.narrow({D}, {start}, {length})
{v}.select({D}, {index})
{v}.as_strided({short shape}, {short strides}, {0|0|1|2})
{v}.diagonal({-1|0|1}, {d}, {d})
{v}.unfold({d}, {1|2|3}, {1|2})
{v}.flatten({d}, {d})
{v}.unflatten({d}, [{1|-1|2}, {-1|1|2}])
{v}.movedim({d}, {d})
{v}.{t()|mT|T|H|mH|real|imag|data|conj()|detach()|ravel()|adjoint()}
{v}.swapaxes({d}, {d})
torch.view_as_real({v})
torch.view_as_complex({v})
{v}.view({dtype})
{v}.view(-1)
{v}.view_as({o})
{v}.expand_as({o})
{v}[{basic}]
{v}[{basic}]
{v}[...]
{v}[None]
"""
PHRASES = {
    "views": VIEWS,
    "several views": """
{v}.split({1|2|3}, {d})
{v}.chunk({1|2|3|4}, {d})
torch.unbind({v}, {d})
{v}.tensor_split({2|3|(1, 2)|[1]}, {d})
torch.hsplit({v}, 2)
torch.meshgrid({v}, {o}, indexing='ij')
torch.broadcast_tensors({v}, {p})
""",
    "creation": """
{fresh}
{fresh}
torch.linspace({float}, {float}, {small})
torch.arange({s}, {s}, {s})
torch.arange({s})
torch.eye({small}, {small}, dtype={dtype})
torch.{zeros|ones|rand|randn}_like({v})
torch.zeros_like({v}, dtype={dtype})
torch.full_like({v}, {s})
torch.full({shape}, {s})
torch.{rand|randn}({shape})
torch.randint({-3|0|1}, {small}, {shape})
torch.randperm({small})
torch.tensor({s})
torch.tensor([{s}, {s}])
torch.tensor({v})
torch.as_tensor({v}, dtype={dtype})
{v}.new_zeros({shape})
{v}.new_tensor([1, 2])
{v}.new_full({shape}, {s})
torch.bernoulli({v})
torch.scalar_tensor({s})
torch.from_numpy({v}.detach().numpy())
torch.asarray({v})
torch.nn.Parameter({v})
torch.randint_like({v}, {small})
torch.normal({v}, 1.0)
torch.multinomial({v}, 2)
torch.bincount({v})
torch.histc({v}, 4)
""",
    "elementwise": f"""
torch.{{{UNARY}}}({{v}})
{{v}}.{{{UNARY}}}()
torch.{{{BINARY}}}({{v}}, {{p|s}})
torch.{{{BINARY}}}({{v}}, {{p}})
{{v}}.{{{BINARY}}}({{p|s}})
torch.{{{BINARY}}}({{s}}, {{v}})
torch.{{add|sub|rsub}}({{v}}, {{p|s}}, alpha={{s}})
torch.div({{v}}, {{p|s}}, rounding_mode={{None|'floor'|'trunc'|'x'}})
{{v}} {{{OPERATORS}}} {{p|s}}
{{v}} {{{OPERATORS}}} {{p}}
{{s}} {{{OPERATORS}}} {{v}}
torch.addc{{mul|div}}({{v}}, {{p}}, {{p}}, value={{s}})
torch.lerp({{v}}, {{p}}, {{s|p}})
torch.clamp({{v}}, {{s}}, {{s}})
torch.clamp({{v}}, {{p}}, {{p}})
{{v}}.clamp({{min|max}}={{s|p}})
torch.where({{v}} > {{0|0.5|s}}, {{p|s}}, {{p|v|s}})
{{v}}.where({{p}}.bool(), {{p}})
torch.where({{v}})
{{v}}.masked_fill({{mask}}, {{s}})
torch.{{isclose|allclose|equal}}({{v}}, {{p}})
torch.isin({{v}}, {{p|s}})
torch.{{polar|complex}}({{v}}, {{p}})
torch.result_type({{v}}, {{o|s}})
""",
    "in place": f"""
!{{written}}.{{{UNARY}}}_()
!{{written}}.{{{BINARY_IN_PLACE}}}_({{p|s}})
!{{written}}.{{{BINARY_IN_PLACE}}}_({{p|s}})
!{{written}}.{{add|sub}}_({{p|s}}, alpha={{s}})
!{{written}}.div_({{p|s}}, rounding_mode={{'floor'|'trunc'}})
!{{v}} {{+|-|*|/|//|%|**|&|^}}= {{p|s}}
!{{v}}[{{subscript}}] {{+|-|*|/}}= {{p|s|s}}
!{{written}}.{{zero_()|sigmoid_()|tril_()|triu_()}}
!{{written}}.fill_({{s|o}})
!{{written}}.copy_({{p|o}})
!{{v}}.addc{{mul|div}}_({{p}}, {{p}}, value={{s}})
!{{v}}.lerp_({{p}}, {{s|p}})
!{{written}}.clamp_({{s}}, {{s}})
!{{v}}.{{transpose|swapaxes}}_({{d}}, {{d}})
!{{v}}.{{unsqueeze|squeeze}}_({{d}})
!{{v}}.{{t_()|squeeze_()|detach_()}}
!{{v}}.resize_({{short shape}}).fill_(1)
!{{v}}.set_({{o}})
!{{v}}.requires_grad_({{|False|True}})
!{{written}}.cum{{sum|prod}}_({{d}})
!{{v}}.renorm_(2, {{d}}, 1.0)
!{{written}}.{{uniform_()|normal_()|random_(5)|bernoulli_(0.5)|exponential_()}}
!{{v}}.data = {{same|o}}
!{{v}}.data.mul_(2)
!{{v}}.grad = {{None|same|o}}
!{{v}}.retain_grad()
!{{written}}.masked_fill_({{mask}}, {{s}})
!{{v}}.resize_as_({{o}}).fill_(1)
!{{v}}.expand([2] + list({{v}}.shape)).add_(1)
!{{v}}[..., 1:].{{add_|copy_}}({{v}}[..., :-1].clone())
!{{v}}[..., 1::2].{{add_|copy_}}({{v}}[..., :-1:2])
!{{v}}.add_({{v}}.t())
!{{v}}.copy_({{v}}.transpose({{d}}, {{d}}).clone())
""",
    "out": """
!torch.{add|mul|sub|maximum|pow}({v}, {p|s}, out={apart})
!torch.{exp|neg|abs|isnan|sigmoid}({v}, out={apart})
!torch.sum({v}, {d}, out={apart})
!torch.cat([{v}, {v}], {d}, out={apart})
!torch.stack([{v}, {v}], out={apart})
!torch.matmul({v}, {v}, out={apart})
!torch.where({v} > 0, {v}, {v}, out={apart})
!torch.max({v}, {d}, out=({apart}, torch.empty(0, dtype=torch.int64)))
!torch.add({v}, 1, out={v})
!torch.add({v}, 1, out={written})
!torch.eq({v}, {s}, out={apart})
!torch.clamp({v}, 0, 1, out={apart})
!torch.arange(4, out={apart})
!torch.gather({v}, {D}, {gathered}, out={apart})
""",
    "reductions": f"""
{{v}}.{{{REDUCED}}}()
torch.{{{REDUCED}}}({{v}})
{{v}}.{{{REDUCED}}}({{d}})
{{v}}.{{{REDUCED}}}({{d}}, keepdim={{True|False}})
{{v}}.{{sum|mean|amax|amin|std|var|logsumexp|nansum|count_nonzero}}({{dims}})
{{v}}.{{sum|mean|prod|nansum|nanmean}}({{d}}, dtype={{dtype}})
{{v}}.{{std|var}}({{d}}, correction={{0|1|2|5|0.5}})
{{v}}.norm({{2|1|'fro'|float('inf')|0|3|-1}}, {{d}})
torch.{{var_mean|std_mean|aminmax}}({{v}})
{{v}}.{{argmax|argmin|max|min|median|nanmedian|mode}}({{|d|dim_named}})
{{v}}.{{max|min}}({{p}})
{{v}}.{{cumsum|cumprod|cummax|cummin|logcumsumexp|softmax|log_softmax}}({{d}})
{{v}}.{{softmax|log_softmax|cumsum|cumprod}}({{d}}, dtype={{dtype}})
{{v}}.{{sort|argsort}}({{d}}, descending={{True|False}})
{{v}}.sort(dim={{d}}, stable=True)
{{v}}.topk({{0|1|2|3}}, {{d}}, {{True|False}})
{{v}}.kthvalue({{1|2|3}}, {{d}})
{{v}}.diff({{0|1|2}}, {{d}})
torch.unique({{v}}, return_counts={{True|False}}, return_inverse={{True|False}})
torch.unique({{v}}, dim={{d}})
torch.unique_consecutive({{v}})
torch.quantile({{v}}, {{0.5|0.25|1.5}}, dim={{d}})
torch.{{trace|cov|corrcoef|cumulative_trapezoid|trapezoid|argwhere}}({{v}})
torch.linalg.vector_norm({{v}}, {{2|1|0|3.5}}, {{d}})
torch.searchsorted({{v}}.sort()[0], {{o}})
torch.nonzero({{v}}, as_tuple={{True|False}})
torch.cdist({{v}}, {{o}})
torch.renorm({{v}}, 2, {{d}}, 1.0)
torch.fft.{{fft|rfft|ifft}}({{v}}, dim={{d}})
{{pitted}}.{{{REDUCED}|argmax|argmin|max|min|median|nanmedian}}({{|0|-1}})
{{pitted}}.{{amax|amin|max|min|argmax|argmin|sort|argsort|cummax|cummin|cumsum|cumprod|softmax|logcumsumexp}}({{0|-1}})
{{pitted}}.{{maximum|minimum|fmax|fmin}}(torch.tensor({{float}}))
""",
    "python": """
{v}.{item|tolist|numpy|is_contiguous|dim_order}()
{bool|int|float|len|list|repr|sum|max|str}({v})
[1, 2, 3, 4][{v}]
{s} in {v}
'{}'.format({v})
copy.deepcopy({v})
pickle.loads(pickle.dumps({v}))
({v}.element_size(), {v}.nbytes, {v}.ndim, {v}.itemsize)
{v}.untyped_storage().nbytes()
{v}.{size|stride}({d})
torch.can_cast({v}.dtype, {dtype})
{v}.is_set_to({o})
""",
    "shapes": """
{v}.{contiguous|clone}()
{v}.clone(memory_format=torch.{contiguous_format|preserve_format|channels_last})
{v}.contiguous(memory_format=torch.channels_last)
{v}.flip([{d}])
{v}.roll({-2|1|3}, {d})
torch.rot90({v}, {-1|1|2}, [{d}, {d}])
{v}.{tril|triu}({-1|0|1})
{v}.{repeat|tile}({repeats})
{v}.repeat_interleave({2|0|torch.tensor([1, 2])}, {d})
torch.{diag|diag_embed}({v}, {-1|0|1})
torch.atleast_{1|2|3}d({v})
{v}.to({dtype})
{v}.to({dtype}, copy=True)
{v}.to({o})
{v}.{float|double|long|int|bool|half|bfloat16|byte|cfloat|short|char}()
{v}.type({dtype})
{v}.type_as({o})
torch.nn.functional.pad({v}, [{-1|0|1|2}, {0|1|2}], value={s})
torch.nn.functional.pad({v}, [{0|1|2}, {0|1|2}], mode={'reflect'|'replicate'|'circular'})
torch.take_along_dim({v}, {v}.argsort({D}), {D})
torch.{cat|stack}([{v}, {same}], {d})
torch.cat([{v}, {same}, {o}], dim={d})
torch.{hstack|vstack|dstack|column_stack}([{v}, {same}])
torch.{block_diag|cartesian_prod}({v}, {o})
torch.nn.functional.one_hot({v})
""",
    "indexing": """
{v}[{subscript}]
{v}[{subscript}]
{v}[{v} > 0]
!{v}[{subscript}] = {s|p}
!{v}[{subscript}] = {s|selected}
!{v}[{subscript}] = {s|selected}
{v}.index_select({D}, {indices})
{v}.gather({D}, {gathered})
{v}.index_fill({D}, {indices}, {s})
!{v}.index_fill_({D}, {indices}, {s})
{v}.index_add({D}, {indices}, {v}.index_select({D}, {indices}))
!{v}.index_add_({D}, {indices}, {source}, alpha={1|2})
!{v}.index_copy_({D}, {indices}, {source})
{v}.scatter({D}, {gathered}, {s|same})
!{v}.scatter_({D}, {gathered}, {s|same})
{v}.scatter_add({D}, {gathered}, {same})
{v}.scatter_reduce({D}, {gathered}, {same}, {'sum'|'prod'|'mean'|'amax'|'amin'}, include_self={True|False})
{v}.masked_select({mask})
{v}.masked_scatter({mask}, {same})
torch.take({v}, {flat indices})
!{v}.put_({flat indices}, {s|o}, accumulate={True|False})
!{v}.index_put_(({indices},), {s|torch.tensor(2.0)|source}, accumulate={True|False})
torch.{select_scatter|slice_scatter}({v}, {o}, {d}, 0)
torch.nn.functional.embedding({indices}, {v})
!{v}.fill_diagonal_({s})
!{v}.index_put_(torch.where({v} > 0), torch.tensor(0.5, dtype={v}.dtype))
""",
    "products": """
torch.matmul({v}, {right|column|o})
{v} @ {right|column}
torch.mm({v}, {right})
torch.{mv|dot|vdot|inner|outer}({v}, {column})
torch.nn.functional.linear({v}, {right}.T)
torch.addmm({o}, {v}, {right}, beta={s}, alpha={s})
torch.einsum('...i,ij->...j', {v}, {right})
torch.einsum('ij,jk', {v}, {right})
torch.tensordot({v}, {right}, {1|([-1], [0])|0})
torch.linalg.multi_dot([{v}, {right}])
torch.matmul({v}, {v}.mT)
torch.{det|inverse|slogdet}({v})
torch.linalg.{svdvals|cholesky|pinv|matrix_norm|norm}({v})
torch.linalg.solve({v}, {o})
torch.matrix_power({v}, {-1|0|2|3})
""",
    "networks": f"""
torch.nn.functional.{{{ACTIVATIONS}}}({{v}})
torch.nn.functional.{{relu|elu|selu|celu|hardtanh|leaky_relu}}({{v}}, inplace=True)
torch.nn.functional.{{softmax|log_softmax|softmin}}({{v}}, {{d}})
torch.nn.functional.{{mse_loss|l1_loss|smooth_l1_loss|huber_loss|soft_margin_loss|kl_div|poisson_nll_loss}}({{v}}, {{same|p}}, reduction={{'mean'|'sum'|'none'}})
torch.nn.functional.{{binary_cross_entropy|binary_cross_entropy_with_logits|hinge_embedding_loss|multilabel_soft_margin_loss}}({{v}}, {{same}})
torch.nn.functional.cross_entropy({{v}}, {{same}}.softmax(1))
torch.nn.functional.layer_norm({{v}}, {{v}}.shape[-1:])
torch.nn.functional.{{dropout|alpha_dropout}}({{v}}, 0.5)
torch.nn.functional.{{avg_pool1d|max_pool1d|lp_pool1d}}({{v}}, 2{{|, 1}})
torch.nn.functional.adaptive_{{avg|max}}_pool1d({{v}}, {{1|2}})
torch.nn.functional.interpolate({{v}}, scale_factor=2{{|, mode='linear'|, mode='nearest-exact'}})
torch.nn.Linear({{v}}.shape[-1], 2)({{v}})
torch.nn.{{LayerNorm|RMSNorm}}({{v}}.shape[-1])({{v}})
torch.nn.BatchNorm1d({{v}}.shape[1])({{v}})
torch.nn.Conv1d({{v}}.shape[-2] or 1, 2, 1)({{v}})
torch.nn.{{GRU|LSTM|RNN}}({{v}}.shape[-1], 2)({{v}})
torch.nn.Sequential(torch.nn.Linear({{v}}.shape[-1], 3), torch.nn.ReLU(), torch.nn.Dropout(0.5), torch.nn.Linear(3, 1))({{v}})
torch.nn.TransformerEncoderLayer({{v}}.shape[-1], 1, 4, dropout=0.0)({{v}})
torch.nn.{{Flatten()|PReLU()|Softmax(-1)|Identity(3, a=2)|Unflatten(0, (1, -1))|Upsample(scale_factor=2)}}({{v}})
""",
    "gradients": """
!{grown}.backward({|retain_graph=True|create_graph=True})
!{grown}.sum().backward({|retain_graph=True|create_graph=True})
!({grown} * {grown}).sum().backward()
!{grown}.backward(torch.ones_like({grown}){|, retain_graph=True|, create_graph=True})
!{grown}.backward({fresh})
torch.autograd.grad({grown}.sum(), [{leaf}]{|, create_graph=True|, retain_graph=True|, allow_unused=True})
torch.autograd.grad(({grown} * {grown}).sum(), [{leaf}, {leaf}], create_graph=True, allow_unused=True)
torch.autograd.grad({grown}.exp().sum(), {leaf}, allow_unused=True, materialize_grads=True)
!{leaf}.register_hook(lambda g: {g * 2|None|g.clone().fill_(1)|g[..., :1]|g.detach() + 1|1|g.to(torch.float64)})
!{leaf}.register_post_accumulate_grad_hook(lambda p: {p.grad.mul_(3)|setattr(p, 'grad', None)|None})
[(n.name() if n is not None else None, i) for n, i in {grown}.grad_fn.next_functions]
[n for n in dir({grown}.grad_fn) if n.startswith('_saved')]
({grown}.output_nr, {grown}.is_leaf, {grown}.retains_grad)
{grown}.{grad|_base}
torch.utils.checkpoint.checkpoint(lambda x: x.sin() * x, {leaf}, use_reentrant={True|False})
torch.autograd.functional.jacobian(lambda x: x.sin(), {leaf}.detach())
torch.autograd.grad(({leaf} {** 3|.sin()|.exp()|.softmax(-1)|.logsumexp(-1)|.norm()|.std()|.prod()|.tanh()}).sum(), {leaf}, create_graph=True)[0]
""",
    "training": f"""
!p = torch.nn.Parameter({{learned}}); o = torch.optim.{{{OPTIMIZERS}}}; [(o.zero_grad(), (p * p).sum().backward(), o.step()) for _ in range(2)]; v0 = p * 1
""",
}

#: How often a line is of each topic; "samples" are calls of the catalogue, "cycles" lines that go together.
WEIGHTS = {
    "samples": 40, "views": 14, "several views": 3, "creation": 4, "elementwise": 16, "in place": 16, "out": 5,
    "reductions": 12, "python": 3, "shapes": 8, "indexing": 16, "products": 5, "networks": 7, "gradients": 14,
    "training": 1, "cycles": 7,
}  # fmt: skip
