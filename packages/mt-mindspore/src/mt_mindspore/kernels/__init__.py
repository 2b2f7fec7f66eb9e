"""Tables of kernels: `common`, `windows` and `rows` for every device target; a target's own stand before them.

The CPU's are `cpu` and `cpu_ordered`, Ascend's are `ascend_calls`.
"""
