"""Algorithms of training on many processes."""
