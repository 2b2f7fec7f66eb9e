"""Settings of every package's tests: property tests try the same examples in every run.

``./dev explore`` (``--hypothesis-profile=explore``) tries others, and more of them.
"""

from __future__ import annotations

import importlib.util

# The tests of built wheels run in an environment without hypothesis, and have no property tests.
if importlib.util.find_spec("hypothesis") is not None:
    from hypothesis import settings

    # Without deadlines: how long an example takes depends on what else the machine does.
    settings.register_profile("repeatable", derandomize=True, deadline=None)
    settings.register_profile("explore", max_examples=1000, deadline=None, print_blob=True)
    settings.load_profile("repeatable")
