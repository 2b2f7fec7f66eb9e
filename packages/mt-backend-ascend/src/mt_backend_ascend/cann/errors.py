"""CANN's error codes."""

from __future__ import annotations

__all__ = ["OUT_OF_MEMORY", "AclError", "name_of"]

#: Codes that programs meet, by their names in acl/acl_base_rt.h and acl/error_codes/rt_error_codes.h of CANN 9.1.
NAMES = {
    100000: "ACL_ERROR_INVALID_PARAM",
    100001: "ACL_ERROR_UNINITIALIZE",
    100002: "ACL_ERROR_REPEAT_INITIALIZE",
    107000: "ACL_ERROR_RT_PARAM_INVALID",
    107001: "ACL_ERROR_RT_INVALID_DEVICEID",
    107002: "ACL_ERROR_RT_CONTEXT_NULL",
    107003: "ACL_ERROR_RT_STREAM_CONTEXT",
    107006: "ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID",
    107007: "ACL_ERROR_RT_EVENT_TIMESTAMP_REVERSAL",
    107017: "ACL_ERROR_RT_INVALID_HANDLE",
    107019: "ACL_ERROR_RT_WAIT_TIMEOUT",
    107020: "ACL_ERROR_RT_TASK_TIMEOUT",
    107042: "ACL_ERROR_RT_SYMBOL_NOT_FOUND",
    148052: "ACL_ERROR_RELATIVE_RESOURCE_NOT_CLEARED",
    200000: "ACL_ERROR_BAD_ALLOC",
    200001: "ACL_ERROR_API_NOT_SUPPORT",
    200002: "ACL_ERROR_INVALID_DEVICE",
    200003: "ACL_ERROR_MEMORY_ADDRESS_UNALIGNED",
    200005: "ACL_ERROR_INVALID_RESOURCE_HANDLE",
    200006: "ACL_ERROR_FEATURE_UNSUPPORTED",
    207000: "ACL_ERROR_RT_FEATURE_NOT_SUPPORT",
    207001: "ACL_ERROR_RT_MEMORY_ALLOCATION",
    207002: "ACL_ERROR_RT_MEMORY_FREE",
    207003: "ACL_ERROR_RT_AICORE_OVER_FLOW",
    207004: "ACL_ERROR_RT_NO_DEVICE",
    207005: "ACL_ERROR_RT_RESOURCE_ALLOC_FAIL",
    207007: "ACL_ERROR_RT_NO_EVENT_RESOURCE",
    207008: "ACL_ERROR_RT_NO_STREAM_RESOURCE",
    207018: "ACL_ERROR_RT_DEVICE_OOM",
    500000: "ACL_ERROR_INTERNAL_ERROR",
    500001: "ACL_ERROR_FAILURE",
    500003: "ACL_ERROR_RT_FAILURE",
    507000: "ACL_ERROR_RT_INTERNAL_ERROR",
    507011: "ACL_ERROR_RT_MODEL_EXECUTE",
    507014: "ACL_ERROR_RT_AICORE_TIMEOUT",
    507015: "ACL_ERROR_RT_AICORE_EXCEPTION",
    507035: "ACL_ERROR_RT_VECTOR_CORE_EXCEPTION",
}
#: The codes that say that a device has no memory left.
OUT_OF_MEMORY = frozenset((200000, 207001, 207018))


def name_of(code: int) -> str:
    """A code with its name, where it has one."""
    return f"{code} ({NAMES[code]})" if code in NAMES else str(code)


class AclError(RuntimeError):
    """A function of CANN's failed; `code` is what it returned."""

    def __init__(self, function: str, code: int, detail: str) -> None:
        super().__init__(f"NPU error: {function} returned {name_of(code)}" + (f"\n{detail}" if detail else ""))
        self.function = function
        self.code = code
