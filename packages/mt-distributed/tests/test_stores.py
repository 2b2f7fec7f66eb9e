"""Stores keep what they are told, on one process: no MPI is needed."""

from __future__ import annotations

from datetime import timedelta

import pytest

from mt_distributed.errors import DistStoreError, QueueEmptyError
from mt_distributed.stores import FileStore, HashStore, PrefixStore, Store, TCPStore

MAKERS = {
    "hash": lambda folder: HashStore(),
    "file": lambda folder: FileStore(str(folder / "store"), 1),
    "tcp": lambda folder: TCPStore("127.0.0.1", 0, None, True),
}


@pytest.fixture(params=MAKERS)
def store(request, tmp_path) -> Store:
    made = MAKERS[request.param](tmp_path)
    made.set_timeout(timedelta(milliseconds=100))
    return made


def test_keys_and_values(store):
    store.set("a", "1")
    assert store.get("a") == b"1"
    assert (store.add("n", 3), store.add("n", 4), store.get("n")) == (3, 7, b"7")
    assert store.check(["a", "n"]) and not store.check(["a", "z"])
    assert [
        store.compare_set(*given) for given in [("c", "", "x"), ("c", "y", "z"), ("c", "x", "z"), ("q", "y", "z")]
    ] == [
        b"x",
        b"x",
        b"z",
        b"y",
    ]
    assert store.delete_key("a") and not store.delete_key("a")
    store.set("bytes", b"\xff\x00")
    assert store.get("bytes") == b"\xff\x00"
    with pytest.raises(TypeError):
        store.set("a", 3)


def test_what_is_missing_is_waited_for_in_vain(store):
    with pytest.raises(DistStoreError, match="(?i)wait timeout"):
        store.get("nothing")
    with pytest.raises(DistStoreError):
        store.wait(["nothing"], timedelta(milliseconds=50))


def test_prefixes(store):
    inner = PrefixStore("p", store)
    inner.set("x", "1")
    assert store.get("p/x") == b"1" and inner.list_keys() == ["x"]
    assert inner.underlying_store is store
    store.barrier("all", 1)


def test_queues(tmp_path):
    for store in (MAKERS["hash"](tmp_path), MAKERS["tcp"](tmp_path)):
        store.queue_push("q", "a")
        store.queue_push("q", "b")
        assert (store.queue_len("q"), store.queue_pop("q"), store.queue_pop("q")) == (2, b"a", b"b")
        with pytest.raises(QueueEmptyError):
            store.queue_pop("q", False)
