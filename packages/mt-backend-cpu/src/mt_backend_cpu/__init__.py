"""CPU kernels of mindtorch over NumPy arrays."""
