"""``torch._dynamo.config``: settings of the compiler.

`recompile_limit`, `error_on_recompile`, `suppress_errors` and `disable` do what they say, and
`accumulated_recompile_limit` is how many sets of sizes a graph is compiled for by a compiler that needs numbers; the
others are hints about graphs of a kind that is not made, and change nothing.
"""

cache_size_limit = 8
accumulated_cache_size_limit = 256
recompile_limit = 8
accumulated_recompile_limit = 256
assume_static_by_default = True
automatic_dynamic_shapes = True
capture_dynamic_output_shape_ops = False
capture_scalar_outputs = False
disable = False
error_on_recompile = False
force_parameter_static_shapes = True
guard_nn_modules = True
inline_inbuilt_nn_modules = True
optimize_ddp = True
suppress_errors = False
verbose = False
