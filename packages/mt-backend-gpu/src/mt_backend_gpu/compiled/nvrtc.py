"""NVRTC through ctypes: CUDA source to machine code. Needs the library, no driver and no header of the toolkit."""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

__all__ = ["REMEDY", "CompileError", "Compiled", "architectures", "compile_source", "library", "version"]

REMEDY = "pip install nvidia-cuda-nvrtc (CUDA 13) or nvidia-cuda-nvrtc-cu12"


class CompileError(RuntimeError):
    """A kernel does not compile, or there is no NVRTC to compile it."""


class Compiled:
    """Machine code with the names that kernels have in it, and what the compiler said."""

    def __init__(self, image: bytes, names: dict[str, str], log: str) -> None:
        self.image, self.names, self.log = image, names, log


def wheel_folders() -> Iterable[Path]:
    """The folders of NVIDIA's wheels that may hold NVRTC."""
    spec = importlib.util.find_spec("nvidia")
    for root in spec.submodule_search_locations or () if spec else ():
        for folder in ("cu13/lib", "cuda_nvrtc/lib", "cu13/bin", "cu13/bin/x86_64", "cuda_nvrtc/bin"):
            yield Path(root) / folder


def candidates() -> Iterable[str]:
    """Paths and names under which NVRTC may be loaded, the most particular first."""
    named = os.environ.get("MINDTORCH_NVRTC")
    if named:
        yield named
        return
    homes = [Path(os.environ[name]) for name in ("CUDA_PATH", "CUDA_HOME") if name in os.environ]
    for folder in (*wheel_folders(), *(home / part for home in homes for part in ("lib64", "bin"))):
        for pattern in ("libnvrtc.so.1?", "nvrtc64_*_0.dll"):
            yield from sorted(map(str, folder.glob(pattern)), reverse=True)
    yield from ("libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so")


@functools.cache
def library() -> ctypes.CDLL:
    """NVRTC, loaded; CompileError with the remedy where there is none."""
    for name in candidates():
        try:
            return ctypes.CDLL(name)
        except OSError:  # the next place
            continue
    raise CompileError(f"CUDA kernels are compiled by NVRTC, which was not found: {REMEDY}")


def check(status: int, what: str) -> None:
    """Raise for a status that is not success."""
    if status:
        text = library().nvrtcGetErrorString
        text.restype = ctypes.c_char_p
        raise CompileError(f"NVRTC: {what}: {text(status).decode()}")


@functools.cache
def version() -> tuple[int, int]:
    """The version of NVRTC."""
    major, minor = ctypes.c_int(), ctypes.c_int()
    check(library().nvrtcVersion(ctypes.byref(major), ctypes.byref(minor)), "version")
    return major.value, minor.value


@functools.cache
def architectures() -> tuple[int, ...]:
    """The compute capabilities that this NVRTC compiles for: (75, 80, ...)."""
    count = ctypes.c_int()
    check(library().nvrtcGetNumSupportedArchs(ctypes.byref(count)), "architectures")
    values = (ctypes.c_int * count.value)()
    check(library().nvrtcGetSupportedArchs(values), "architectures")
    return tuple(values)


def text_of(program: ctypes.c_void_p, size: str, get: str) -> bytes:
    """A text or image of a program."""
    length = ctypes.c_size_t()
    check(getattr(library(), size)(program, ctypes.byref(length)), size)
    buffer = ctypes.create_string_buffer(length.value)
    check(getattr(library(), get)(program, buffer), get)
    return buffer.raw


def compile_source(source: str, expressions: Sequence[str], options: Sequence[str], *, binary: bool = True) -> Compiled:
    """Compile instances of kernels.

    Parameters
    ----------
    source
        CUDA C++.
    expressions
        Kernels with their template arguments; the result tells the name of each in the image.
    options
        NVRTC's, the architecture among them.
    binary
        Whether the image is a cubin; else PTX, which a driver compiles.

    Raises
    ------
    CompileError
        With the compiler's log.
    """
    nvrtc, program = library(), ctypes.c_void_p()
    check(nvrtc.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"mindtorch.cu", 0, None, None), "program")
    try:
        for expression in expressions:
            check(nvrtc.nvrtcAddNameExpression(program, expression.encode()), expression)
        given = [option.encode() for option in options]
        status = nvrtc.nvrtcCompileProgram(program, len(given), (ctypes.c_char_p * len(given))(*given))
        log = text_of(program, "nvrtcGetProgramLogSize", "nvrtcGetProgramLog").rstrip(b"\0").decode()
        if status:
            raise CompileError(f"a CUDA kernel does not compile ({', '.join(expressions)}):\n{log}")
        names = {expression: lowered_name(program, expression) for expression in expressions}
        kind = "CUBIN" if binary else "PTX"
        return Compiled(text_of(program, f"nvrtcGet{kind}Size", f"nvrtcGet{kind}"), names, log)
    finally:
        nvrtc.nvrtcDestroyProgram(ctypes.byref(program))


def lowered_name(program: ctypes.c_void_p, expression: str) -> str:
    """The name of an instance in a compiled program."""
    name = ctypes.c_char_p()
    check(library().nvrtcGetLoweredName(program, expression.encode(), ctypes.byref(name)), expression)
    assert name.value is not None  # NVRTC succeeded
    return name.value.decode()
