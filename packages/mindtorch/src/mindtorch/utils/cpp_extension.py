"""``torch.utils.cpp_extension``: refused, as there are no headers of PyTorch's to compile against."""

from __future__ import annotations

import shutil

from .._unsupported import unsupported_class, unsupported_function

_REMEDY = "There are no headers of PyTorch's: write kernels by torch.library, and see docs/native-kernels.md for C."
_FUNCTIONS = """
    CUDAExtension CppExtension SyclExtension check_compiler_is_gcc check_compiler_ok_for_platform
    get_compiler_abi_compatibility_and_version get_cxx_compiler get_default_build_root include_paths library_paths load
    load_inline remove_extension_h_precompiler_headers
""".split()
globals().update({name: unsupported_function(f"torch.utils.cpp_extension.{name}", _REMEDY) for name in _FUNCTIONS})
BuildExtension = unsupported_class("torch.utils.cpp_extension.BuildExtension", _REMEDY)

__all__ = ["BuildExtension", "is_ninja_available", "verify_ninja_availability", *_FUNCTIONS]

#: Where CUDA's compiler would be.
CUDA_HOME: str | None = None


def is_ninja_available() -> bool:
    """Whether the build tool is there."""
    return shutil.which("ninja") is not None


def verify_ninja_availability() -> None:
    """Raise where the build tool is not there.

    Raises
    ------
    RuntimeError
        In PyTorch's words.
    """
    if not is_ninja_available():
        raise RuntimeError("Ninja is required to load C++ extensions (pip install ninja to get it)")
