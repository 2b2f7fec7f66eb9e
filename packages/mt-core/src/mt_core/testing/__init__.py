"""The exam that any backend can take, and what it is made of.

A backend's whole test file::

    from mt_core.testing import BackendExam, read_gaps

    class TestExam(BackendExam):
        device_type = "toy"
        gaps = read_gaps(Path(__file__).with_name("gaps.toml"))
"""

from __future__ import annotations

from .exam import BackendExam as BackendExam
from .gaps import read_gaps as read_gaps
from .oracle import DeviceReference as DeviceReference
from .oracle import StoredReference as StoredReference
from .sample import Sample as Sample
from .sample import TensorMaker as TensorMaker
from .sample import declared_operators as declared_operators
from .sample import examined_operators as examined_operators
from .sample import samples as samples
from .slots import empty_slots as empty_slots
