"""CUDA backend of mindtorch, over CuPy: the device type ``cuda``.

Memory, streams and libraries are CuPy's. The kernels are those of mt-backend-cpu, instantiated over CuPy's arrays
(`mt_backend_gpu.shared`), but for what `mt_backend_gpu.kernels` writes anew for the device, what `mt_backend_gpu.own`
compiles, and what `mt_backend_gpu.on_host` computes on the host and says so. Without CuPy or a driver the device is
refused, with the reason and the remedy (`mt_backend_gpu.detect`).
"""
