"""Ascend NPU backend of mindtorch: the device type ``npu``, by `mt_mindspore.backend.MindSporeBackend`."""
