"""Kernels of our own: CUDA sources (``../cuda``), compiled at first use, and what plans and launches them.

A `machine.Machine` compiles and launches; the families' functions plan a call (result, grid, arguments) and are the
same for a GPU (`driver.CudaMachine`) and for the tests, which run the sources on the CPU.
"""
