"""``torch.distributed.distributed_c10d``: everything about groups and collectives under one name, as PyTorch has it."""

from __future__ import annotations

from . import backends as _backends_
from . import errors as _errors_
from . import functions as _functions_
from . import groups as _groups_
from . import monitored as _monitored_
from . import objects as _objects_
from . import options as _options_
from . import point_to_point as _point_to_point_
from . import rendezvous as _rendezvous_
from . import stores as _stores_
from . import subgroups as _subgroups_
from . import world as _world_
from .backends import *  # noqa: F403 - what these modules list is what this one has
from .coalescing import _coalescing_manager as _coalescing_manager
from .coalescing import _CoalescingManager as _CoalescingManager
from .errors import *  # noqa: F403
from .functions import *  # noqa: F403
from .grad_bucket import GradBucket as GradBucket
from .groups import *  # noqa: F403
from .monitored import *  # noqa: F403
from .objects import *  # noqa: F403
from .options import *  # noqa: F403
from .point_to_point import *  # noqa: F403
from .process_group import ProcessGroup as ProcessGroup
from .reduce_ops import ReduceOp as ReduceOp
from .rendezvous import *  # noqa: F403
from .stores import *  # noqa: F403
from .subgroups import *  # noqa: F403
from .work import Work as Work
from .world import *  # noqa: F403
from .world import _get_default_group as _get_default_group
from .world import _rank_not_in_group as _rank_not_in_group
from .world import _world as _world

_PARTS = (
    _backends_,
    _errors_,
    _functions_,
    _groups_,
    _objects_,
    _options_,
    _point_to_point_,
    _monitored_,
    _subgroups_,
    _rendezvous_,
    _stores_,
    _world_,
)
__all__ = ["GradBucket", "ProcessGroup", "ReduceOp", "Work", *(name for part in _PARTS for name in part.__all__)]
__all__.remove("library_of")
