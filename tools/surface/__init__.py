"""Every public name of PyTorch: whether it is here, and whether one call of it gives what PyTorch gives.

``make_snapshot.py`` asks PyTorch and writes ``snapshot.json``; ``python -m tools.surface`` asks mindtorch the same.
"""
