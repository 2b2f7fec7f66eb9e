"""What kernels do otherwise on a device than the shared ones of the same module: see `mt_backend_gpu.shared`."""
