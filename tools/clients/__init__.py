"""Short programs with the libraries that people use on PyTorch, run without it and compared with its numbers."""
