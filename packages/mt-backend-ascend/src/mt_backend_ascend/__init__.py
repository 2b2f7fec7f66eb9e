"""Ascend NPU backend of mindtorch: its contract and entry point; it holds no kernels yet.

The device type ``npu`` is claimed, so that asking for it gives the reason and a remedy, and ``mindtorch doctor`` lists
it. What a finished backend provides is `mt_core.plugins.protocols.Backend`, over the kernels of `mt_mindspore.Bridge`
and its own AscendC launcher.
"""
