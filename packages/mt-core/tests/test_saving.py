"""What becomes of files while they are written: the old or the new one is whole, and nothing else is left."""

from __future__ import annotations

import io
import os
import pickle
import signal
import stat
import subprocess
import sys
import time

import numpy as np
import pytest

from mt_core.interop import from_numpy
from mt_core.serialization import load, save

posix = pytest.mark.skipif(os.name == "nt", reason="POSIX signals, links and limits")
MEGABYTE = 1 << 20


def block(value, megabytes=1):
    return from_numpy(np.full(megabytes * MEGABYTE, value, np.uint8))


def whole(path, *values):
    loaded = load(path)
    assert int(loaded[0]) in values and bool((loaded == loaded[0]).all())


@posix
@pytest.mark.parametrize("legacy", [False, True])
@pytest.mark.parametrize("limit", [0, 1, 100, 5000, MEGABYTE // 2, MEGABYTE])
def test_a_full_disk_leaves_the_old_file_and_nothing_else(tmp_path, limit, legacy):
    import resource  # lazy: there is none on Windows

    path = tmp_path / "model.pt"
    save(block(1), path)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            save(block(2), path, _use_new_zipfile_serialization=not legacy)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert list(tmp_path.iterdir()) == [path]
    whole(path, 1)


SAVING = """
import sys
import numpy as np
from mt_core.interop import from_numpy
from mt_core.serialization import save
blocks = [from_numpy(np.full(1 << 20, k, np.uint8)) for k in (1, 2)]
print("ready", flush=True)
while True:
    for b in blocks:
        save(b, sys.argv[1])
"""


@posix
def test_what_a_killed_process_leaves_is_removed_by_the_next_save(tmp_path):
    path = tmp_path / "model.pt"
    save(block(1), path)
    process = subprocess.Popen([sys.executable, "-c", SAVING, str(path)], stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"ready\n"
    deadline = time.monotonic() + 30
    while not (left := [p for p in tmp_path.iterdir() if p != path]) and time.monotonic() < deadline:
        pass
    process.send_signal(signal.SIGSTOP)
    os.waitpid(process.pid, os.WUNTRACED)  # it goes on until it has stopped
    alive = {p.name for p in tmp_path.iterdir()} - {path.name}
    save(block(3), tmp_path / "other.pt")
    assert alive <= {p.name for p in tmp_path.iterdir()}, "what a living process writes stays"
    process.kill()
    process.wait()
    process.stdout.close()
    save(block(3), tmp_path / "other.pt")
    assert left is not None and {p.name for p in tmp_path.iterdir()} == {"model.pt", "other.pt"}
    whole(path, 1, 2)


def test_only_abandoned_files_of_our_names_are_removed(tmp_path):
    kept = [tmp_path / name for name in (".model.tmp", "0123456789abcdef.mindtorch-save", ".x.mindtorch-save")]
    abandoned = tmp_path / ".0123456789abcdef.mindtorch-save"
    for path in (*kept, abandoned):
        path.write_bytes(b"x")
    save(1, tmp_path / "model.pt")
    assert not abandoned.exists() and all(path.exists() for path in kept)


@posix
def test_a_file_with_several_links_is_written_in_place(tmp_path):
    path, link = tmp_path / "model.pt", tmp_path / "link.pt"
    save(block(1, 2), path)
    os.link(path, link)
    with pytest.warns(UserWarning, match="written in place, since it has several hard links"):
        save(block(2), path)
    assert os.path.samefile(path, link) and link.stat().st_size < 2 * MEGABYTE
    whole(link, 2)
    with pytest.warns(UserWarning, match="in place"), pytest.raises((AttributeError, pickle.PicklingError)):
        save(lambda: None, path)
    whole(link, 2)


@posix
def test_a_file_in_a_folder_that_takes_no_files_is_written_in_place(tmp_path, monkeypatch):
    path = tmp_path / "model.pt"
    save(1, path)
    opening = os.open

    def refuse(name, flags, *args):
        if flags & os.O_CREAT:
            raise PermissionError(13, "Permission denied")
        return opening(name, flags, *args)

    monkeypatch.setattr(os, "open", refuse)
    with pytest.warns(UserWarning, match="no file can be made in its folder"):
        save(2, path)
    assert load(path) == 2
    with pytest.raises(RuntimeError, match="open file failed with strerror: Permission denied"):
        save(2, tmp_path / "new.pt")


@posix
def test_mode_and_owner_are_kept(tmp_path):
    path = tmp_path / "model.pt"
    path.write_bytes(b"")
    path.chmod(0o604)
    if os.geteuid() == 0:
        os.chown(path, 1234, 2345)
    before = path.stat()
    save(1, path)
    after = path.stat()
    assert stat.S_IMODE(after.st_mode) == 0o604
    assert (after.st_uid, after.st_gid) == (before.st_uid, before.st_gid) and after.st_ino != before.st_ino


@pytest.mark.parametrize("legacy", [False, True])
def test_a_writer_that_takes_less_is_an_error(legacy):
    class Short(io.BytesIO):
        def write(self, data):
            return super().write(memoryview(data).cast("B")[:1000])

    with pytest.raises(RuntimeError, match="took 1000 of"):
        save(block(1), Short(), _use_new_zipfile_serialization=not legacy)
