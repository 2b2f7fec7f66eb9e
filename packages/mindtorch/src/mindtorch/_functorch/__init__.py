"""``torch._functorch``: the settings of what checks custom operators."""

from . import config as config
