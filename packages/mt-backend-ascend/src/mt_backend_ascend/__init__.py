"""Ascend NPU backend of mindtorch: contract and entry point."""
