"""CUDA backend of mindtorch: contract and entry point."""
