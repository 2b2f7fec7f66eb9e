"""``python -m torch.utils.bottleneck script.py``: where a script's time goes, by Python's profiler and by torch's."""
