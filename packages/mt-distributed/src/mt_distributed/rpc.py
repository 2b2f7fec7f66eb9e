"""``torch.distributed.rpc``, which is not available: calls between processes would need a server in each of them."""

from __future__ import annotations

from . import refusing as _refusing

__all__ = ["is_available"]


def is_available() -> bool:
    """False: functions of other processes are not called; messages are sent by `torch.distributed`."""
    return False


_REMEDY = "torch.distributed has collectives, send and recv, and objects; is_available() says False."
for _name in """BackendType PyRRef RRef RemoteProfilerManager RpcBackendOptions TensorPipeRpcBackendOptions WorkerInfo
        get_worker_info init_rpc new_method_timeout remote rpc_async rpc_sync shutdown""".split():
    globals()[_name] = _refusing.refused_class("torch.distributed.rpc", _name, _REMEDY)
