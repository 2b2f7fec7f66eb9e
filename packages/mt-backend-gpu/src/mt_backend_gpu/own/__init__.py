"""Kernels that are compiled for the device, by family; registered last, so that they are asked first."""
