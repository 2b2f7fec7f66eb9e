"""Shape rules, one file per operator family: what a call's results are, known from the description of its arguments.

A rule takes the schema's arguments in order and returns a `Spec` or a `View` (`mt_core.spec`). It raises every argument
error, in PyTorch's words. The meta device stops there; a backend's kernel gives the elements.
"""
