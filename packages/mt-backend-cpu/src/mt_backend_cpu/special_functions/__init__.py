"""Special functions over NumPy arrays, for kernels of several families."""
