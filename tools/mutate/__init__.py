"""Plant random faults in kernels, rules, derivatives and executors, and see which the tests catch.

``python -m tools.mutate --count 300 --seed 0``. A fault is a change of one place in a module's syntax tree, made while
the module is imported, in a process of its own (`trial`): no file changes. `sites` finds the places, `plan` chooses
among them and knows which tests look at what.
"""

from __future__ import annotations
