"""How a function becomes graphs of its forward and its backward.

``analysis`` runs it once on functional fake tensors and notes what it does to memory; ``tracing`` writes it down as one
graph, its gradients included; ``runtime`` carries calls out by what compilers made of the two parts of it.
"""
