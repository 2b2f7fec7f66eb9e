"""How fast mindtorch is, beside PyTorch in the same run: ``python -m tools.bench``."""
