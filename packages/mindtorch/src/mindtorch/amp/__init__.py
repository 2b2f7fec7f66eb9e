"""``torch.amp``: computing parts of a program in a smaller dtype."""

from .autocast_mode import autocast as autocast
from .autocast_mode import clear_autocast_cache as clear_autocast_cache
from .autocast_mode import custom_bwd as custom_bwd
from .autocast_mode import custom_fwd as custom_fwd
from .autocast_mode import get_autocast_cpu_dtype as get_autocast_cpu_dtype
from .autocast_mode import get_autocast_dtype as get_autocast_dtype
from .autocast_mode import get_autocast_gpu_dtype as get_autocast_gpu_dtype
from .autocast_mode import is_autocast_available as is_autocast_available
from .autocast_mode import is_autocast_cache_enabled as is_autocast_cache_enabled
from .autocast_mode import is_autocast_cpu_enabled as is_autocast_cpu_enabled
from .autocast_mode import is_autocast_enabled as is_autocast_enabled
from .grad_scaler import GradScaler as GradScaler
from .grad_scaler import OptState as OptState
