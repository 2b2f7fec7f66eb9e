"""Tables of kernels: `common`, `windows` and `rows` for every device target; a target's own stand before them.

The CPU's are `cpu`, `cpu_ordered` and `cpu_arithmetic`, Ascend's are `ascend_calls`.
"""
