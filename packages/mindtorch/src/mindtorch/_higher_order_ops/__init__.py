"""``torch._higher_order_ops``: control flow as operators on functions.

Each runs what its functions say at once; they are differentiated, mapped and functionalized by the operators that the
functions call. What a function that is not called would return is not looked at. In the graphs of ``make_fx`` each is
one node, whose functions are modules.
"""

from .associative_scan import associative_scan as associative_scan
from .cond import cond as cond
from .map import map as map
from .scan import scan as scan
from .while_loop import while_loop as while_loop

__all__ = ["associative_scan", "cond", "map", "scan", "while_loop"]
