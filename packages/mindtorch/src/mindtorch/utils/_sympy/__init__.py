"""``torch.utils._sympy``: the functions of which symbolic sizes are made. It needs sympy, an extra of mindtorch."""
