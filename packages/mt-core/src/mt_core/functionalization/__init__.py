"""Programs without writes: operators that write become ones that compute, and views are made again after a write.

``tensors``
    Functional tensors: they stand for a value that is replaced where an ordinary tensor is written to. A base and its
    views share a `FunctionalStorage`; each remembers by which views it comes from the base.
``steps``
    One view, forwards (the view again, or a copy of what it shows) and backwards (a base into which what has become
    of the view is put).
``calls``
    What an operator does to functional tensors.
``layer``
    The layer of the key `FUNCTIONALIZE`, for tensors that are made functional by hand.
``transform``
    ``torch.func.functionalize``, a transform as the others.
"""
