"""Nested tensors of the strided layout: components of any sizes, which lie in one piece of memory."""
