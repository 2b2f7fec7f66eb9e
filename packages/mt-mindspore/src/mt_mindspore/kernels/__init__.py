"""Tables of kernels: `common` and `windows` for every device target, and `cpu`, which stands before them there."""
