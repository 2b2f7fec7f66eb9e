"""Kernels that are compiled for the device, by family; registered last, so that they are asked first.

No module here imports another: that would register its kernels before those which are to be asked after them.
"""
