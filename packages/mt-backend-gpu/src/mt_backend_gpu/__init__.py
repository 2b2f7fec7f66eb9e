"""CUDA backend of mindtorch: its contract and entry point; it holds no kernels yet.

The device type ``cuda`` is claimed, so that asking for it gives the reason and a remedy, and ``mindtorch doctor`` lists
it. What a finished backend provides is `mt_core.plugins.protocols.Backend`.
"""
