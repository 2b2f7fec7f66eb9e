"""``functorch.compile``: functions as graphs of their forward and of their backward."""

from mindtorch._functorch import config as config
from mindtorch._functorch.aot_autograd import aot_function as aot_function
from mindtorch._functorch.aot_autograd import aot_module as aot_module
from mindtorch._functorch.aot_autograd import aot_module_simplified as aot_module_simplified
from mindtorch._functorch.aot_autograd import compiled_function as compiled_function
from mindtorch._functorch.aot_autograd import compiled_module as compiled_module
from mindtorch._functorch.aot_autograd import get_aot_compilation_context as get_aot_compilation_context
from mindtorch._functorch.aot_autograd import get_aot_graph_name as get_aot_graph_name
from mindtorch._functorch.aot_autograd import get_graph_being_compiled as get_graph_being_compiled
from mindtorch._functorch.aot_autograd import make_boxed_compiler as make_boxed_compiler
from mindtorch._functorch.aot_autograd import make_boxed_func as make_boxed_func
from mindtorch._functorch.compilers import debug_compile as debug_compile
from mindtorch._functorch.compilers import draw_graph_compile as draw_graph_compile
from mindtorch._functorch.compilers import memory_efficient_fusion as memory_efficient_fusion
from mindtorch._functorch.compilers import nop as nop
from mindtorch._functorch.compilers import print_compile as print_compile
from mindtorch._functorch.compilers import ts_compile as ts_compile
from mindtorch._functorch.partitioners import default_partition as default_partition
from mindtorch._functorch.partitioners import min_cut_rematerialization_partition as min_cut_rematerialization_partition
