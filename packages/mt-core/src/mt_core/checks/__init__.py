"""Errors that depend on elements, one file per operator family.

Whether an index reaches beyond a dimension, only a kernel can tell, and each backend finds out in its own way. What it
then says is PyTorch's affair: every backend calls the function here that refuses what it found. They take Python
numbers and know no array.
"""
