"""Stores: keys and values that the processes of a program share."""

from .base import PrefixStore as PrefixStore
from .base import Store as Store
from .file_store import FileStore as FileStore
from .hash_store import HashStore as HashStore
from .tcp_store import TCPStore as TCPStore

__all__ = ["FileStore", "HashStore", "PrefixStore", "Store", "TCPStore"]
