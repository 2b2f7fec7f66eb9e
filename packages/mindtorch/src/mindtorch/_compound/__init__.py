"""Compounds: tensors of ``torch.nested`` and ``torch.masked``, which are made of ordinary ones.

A compound has no memory. Its class says what operators do to it by rules on its parts. The key `COMPOUND` stands above
autograd, so that autograd sees the parts alone: `parts.elements` leads from a compound to its elements and
`parts.compound` back, and these two are all that is recorded of compounds themselves.
"""
