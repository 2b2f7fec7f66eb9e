"""``torch.utils.data.datapipes``: streams and maps that are put together by methods.

`datapipe` has the two base classes, `iter` and `map` the pipes, by concern.
"""

from . import iter as iter
from . import map as map
