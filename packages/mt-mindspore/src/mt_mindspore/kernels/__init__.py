"""Tables of kernels: `common` to both device targets, and `cpu` and `ascend`, which stand before it."""
