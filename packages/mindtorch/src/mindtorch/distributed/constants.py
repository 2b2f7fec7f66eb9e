"""``torch.distributed.constants``: how long groups wait where they are not told."""

from datetime import timedelta

__all__ = ["default_pg_nccl_timeout", "default_pg_timeout"]

default_pg_timeout = timedelta(minutes=30)
#: NCCL is not there, and has no limit of its own.
default_pg_nccl_timeout: timedelta | None = None
