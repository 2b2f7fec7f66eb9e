"""What programs ask of how PyTorch was built."""

__all__ = [
    "compiled_with_cxx11_abi", "has_lapack", "has_mkl", "has_openmp", "has_spectral", "init_num_threads",
    "is_vulkan_available",
]  # fmt: skip

#: torch.linalg and torch.fft are whole; kernels use neither MKL nor OpenMP.
has_lapack = True
has_spectral = True
has_mkl = False
has_openmp = False


def compiled_with_cxx11_abi() -> bool:
    """Whether libraries are built with the C++11 ABI of libstdc++: the native library is."""
    return True


def is_vulkan_available() -> bool:
    """Whether there are kernels by Vulkan."""
    return False


def init_num_threads() -> None:
    """Let `torch.set_num_threads` hold in this thread: it holds in every thread already."""
