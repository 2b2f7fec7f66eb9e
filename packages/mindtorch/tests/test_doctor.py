"""What the doctor makes of plugins, as far as it shows in one process."""

from __future__ import annotations

import pytest

from mindtorch import doctor
from mt_core.plugins import discovery
from mt_core.plugins.discovery import PluginError


def finder(backends):
    """A `find_backend` over a dict of backends and of errors to raise."""

    def find(device_type):
        found = backends[device_type]
        if isinstance(found, Exception):
            raise found
        return found

    return find


class Backend:
    def __init__(self, count):
        self.count = count

    def device_count(self):
        return self.count

    def diagnose(self):
        return [("driver", "too old")]


@pytest.fixture
def plugins(monkeypatch):
    def install(**backends):
        monkeypatch.setattr(discovery, "backend_entry_points", lambda: {name: [] for name in backends})
        missing = {name: PluginError(f"no backend for {name}") for name in doctor.DEVICE_TYPES if name not in backends}
        monkeypatch.setattr(discovery, "find_backend", finder({**missing, **backends}))

    return install


def test_counts_and_details_are_told(plugins):
    plugins(cpu=Backend(1), toy=Backend(2))
    report = doctor.examine()
    assert report.healthy
    assert "1 device\n" in report.text
    assert "2 devices\n" in report.text
    assert "driver: too old" in report.text


def test_a_backend_that_fails_makes_it_unhealthy(plugins):
    plugins(cpu=Backend(1), toy=PluginError("toy from toy-backend failed to load: ImportError: no driver"))
    report = doctor.examine()
    assert not report.healthy
    assert "no driver" in report.text


def test_a_missing_accelerator_is_no_illness_but_a_missing_cpu_is(plugins):
    plugins(cpu=Backend(1))
    assert doctor.examine().healthy
    plugins(cuda=Backend(1))
    assert not doctor.examine().healthy
