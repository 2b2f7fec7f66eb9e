"""The transforms of ``torch.func``: a thread is inside of a stack of them, and the innermost sees each call first.

``interpreters``
    The stack, and the layer that hands calls to it.
``wrapped``
    The wrappers that a level of ``grad`` or ``jvp`` puts around tensors, and the layer that takes them off again.
``batched``, ``vmap``
    Tensors with a hidden dimension, and the interpreter that carries their calls out.
``batching_rules``
    A room: what an operator does to tensors with a hidden dimension, by operator family.

A transform is an `Interpreter`. While it handles a call it either stays inside of itself (a level that records keeps
its wrappers on, with `within`), or goes on to the next one outwards (`outside`). Wherever a transform is the last one,
what it calls is an ordinary call.
"""
