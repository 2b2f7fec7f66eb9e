"""``torch._dispatch``: kernels in Python for operators of ``torch.ops``."""
