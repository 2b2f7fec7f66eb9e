"""Bridge between mindtorch and MindSpore: contract."""
