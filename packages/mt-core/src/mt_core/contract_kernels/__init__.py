"""Kernels for every backend, written on the backend contract alone (`mt_core.plugins.protocols.Backend`).

They take and return tensors, and serve wherever a backend registers nothing of its own.
"""
