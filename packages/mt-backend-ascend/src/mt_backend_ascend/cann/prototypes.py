"""The functions of CANN's libraries that are called, with the source of each signature.

Headers and pages are those of CANN 9.1.0, as published with its runtime and operator base (``acl/acl_rt.h`` says ACL
1.17). None of it was tried on a device; what was, and how, stands in docs/ascend.md. Every function returns an int32,
0 for success, but those of `POINTERS`, which return a pointer, null for failure, and of `TEXTS`.
"""

from __future__ import annotations

import ctypes
from typing import Any

__all__ = ["ACLNN", "ALTERNATIVES", "POINTERS", "RUNTIME", "TEXTS"]

I32, U32, I64, U64, SIZE = ctypes.c_int32, ctypes.c_uint32, ctypes.c_int64, ctypes.c_uint64, ctypes.c_size_t
#: A handle, an address or an out parameter: all 64 bits of it.
P = ctypes.c_void_p
TEXT = ctypes.c_char_p

#: Of libascendcl.so.
RUNTIME: dict[str, tuple[Any, ...]] = {
    # acl/acl.h; runtime API reference, 03 "Initialization and deinitialization". A null path is an empty configuration.
    "aclInit": (TEXT,),
    "aclFinalize": (),
    "aclGetRecentErrMsg": (),
    # acl/acl_base_rt.h; 04 "Device management". The SoC's name without an argument: that of the process.
    "aclrtGetSocName": (),
    # acl/acl_rt.h; 04 "Device management". Device ids are those that ASCEND_RT_VISIBLE_DEVICES leaves, from 0.
    "aclrtGetDeviceCount": (P,),  # uint32_t *
    "aclrtSetDevice": (I32,),  # of the calling thread
    "aclrtResetDevice": (I32,),
    "aclrtSynchronizeDevice": (),  # of the calling thread's device
    "aclrtDeviceCanAccessPeer": (P, I32, I32),  # int32_t *
    "aclrtDeviceEnablePeerAccess": (I32, U32),
    "aclrtGetDeviceInfo": (U32, I32, P),  # aclrtDevAttr, int64_t *; not in CANN 8.0
    # acl/acl_rt.h; 06 "Stream management". Priority is reserved; flags are ACL_STREAM_*; a status is an int32 enum.
    "aclrtCreateStreamWithConfig": (P, U32, U32),  # aclrtStream *
    "aclrtDestroyStream": (P,),
    "aclrtSynchronizeStream": (P,),
    "aclrtStreamQuery": (P, P),  # aclrtStreamStatus *
    "aclrtStreamWaitEvent": (P, P),
    # acl/acl_rt.h; 07 "Event management". Flags are ACL_EVENT_*, or-ed.
    "aclrtCreateEventExWithFlag": (P, U32),  # aclrtEvent *
    "aclrtCreateEventWithFlag": (P, U32),
    "aclrtDestroyEvent": (P,),
    "aclrtRecordEvent": (P, P),  # event, stream
    "aclrtQueryEventStatus": (P, P),  # aclrtEventRecordedStatus *
    "aclrtSynchronizeEvent": (P,),
    "aclrtEventElapsedTime": (P, P, P),  # float *, start, end
    # acl/acl_rt.h; 11-01 "Device memory", 11-02 "Host memory", 11-03 "Copies". Sizes are not 0; enums are int32.
    "aclrtMalloc": (P, SIZE, I32),  # void **, aclrtMemMallocPolicy
    "aclrtMallocAlign32": (P, SIZE, I32),
    "aclrtFree": (P,),
    "aclrtMallocHost": (P, SIZE),
    "aclrtFreeHost": (P,),
    "aclrtGetMemInfo": (I32, P, P),  # aclrtMemAttr, size_t *free, size_t *total
    "aclrtMemcpy": (P, SIZE, P, SIZE, I32),  # target, its room, source, count, aclrtMemcpyKind
    "aclrtMemcpyAsync": (P, SIZE, P, SIZE, I32, P),
    "aclrtMemsetAsync": (P, SIZE, I32, SIZE, P),
    # acl/acl_rt.h; 15 "Model running instance management": experimental, and not on every chip. Modes and status are
    # int32 enums. A recording ends on the stream on which it began; a model that runs may not be destroyed.
    "aclmdlRICaptureBegin": (P, I32),  # aclrtStream, aclmdlRICaptureMode
    "aclmdlRICaptureGetInfo": (P, P, P),  # aclmdlRICaptureStatus *, aclmdlRI *
    "aclmdlRICaptureEnd": (P, P),  # aclmdlRI *
    "aclmdlRIExecuteAsync": (P, P),  # aclmdlRI, aclrtStream
    "aclmdlRIDestroy": (P,),
    # acl/acl_rt.h; 14 "Kernel loading and execution". Paths are absolute; the last argument of WithConfig is null.
    "aclrtBinaryLoadFromFile": (TEXT, P, P),  # options or null, aclrtBinHandle *
    "aclrtBinaryUnLoad": (P,),
    "aclrtBinaryGetFunction": (P, TEXT, P),  # aclrtFuncHandle *
    "aclrtLaunchKernelWithHostArgs": (P, U32, P, P, P, SIZE, P, SIZE),  # since CANN 8.3
    "aclrtLaunchKernelWithConfig": (P, U32, P, P, P, P),  # function, blocks, stream, configuration, arguments, null
    "aclrtKernelArgsInit": (P, P),
    "aclrtKernelArgsAppend": (P, P, SIZE, P),
    "aclrtKernelArgsFinalize": (P,),
}

#: Of libnnopbase.so: aclnn/acl_meta.h of the operator base; its API reference, nnopbase/aclnn, a page for each.
ACLNN: dict[str, tuple[Any, ...]] = {
    # int64_t *view, count, aclDataType, int64_t *strides, offset (elements), aclFormat, int64_t *storage, count, data:
    # the address of the storage, which is a multiple of 32.
    "aclCreateTensor": (P, U64, I32, P, I64, I32, P, U64, P),
    "aclCreateScalar": (P, I32),  # the number's address, aclDataType
    "aclCreateIntArray": (P, U64),
    "aclCreateFloatArray": (P, U64),
    "aclCreateBoolArray": (P, U64),
    "aclCreateTensorList": (P, U64),
    "aclDestroyTensor": (P,),
    "aclDestroyScalar": (P,),
    "aclDestroyIntArray": (P,),
    "aclDestroyFloatArray": (P,),
    "aclDestroyBoolArray": (P,),
    # Destroys the tensors of the list, too.
    "aclDestroyTensorList": (P,),
    # Only for an executor that the second phase has not taken, or that was made repeatable.
    "aclDestroyAclOpExecutor": (P,),
}

POINTERS = frozenset(name for name in ACLNN if name.startswith("aclCreate"))
TEXTS = frozenset(("aclGetRecentErrMsg", "aclrtGetSocName"))
#: What is asked for first, and what serves where a library is too old to have it.
ALTERNATIVES: dict[str, tuple[str, ...]] = {
    "create_event": ("aclrtCreateEventExWithFlag", "aclrtCreateEventWithFlag"),
    "allocate": ("aclrtMallocAlign32", "aclrtMalloc"),
    "launch": ("aclrtLaunchKernelWithHostArgs", "aclrtLaunchKernelWithConfig"),
}
