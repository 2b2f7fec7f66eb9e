"""Containers within containers, taken for trees whose leaves are everything else (``torch.utils._pytree``)."""

from .nodes import SUPPORTED_NODES as SUPPORTED_NODES
from .nodes import Context as Context
from .nodes import DumpableContext as DumpableContext
from .nodes import FlattenFn as FlattenFn
from .nodes import FromDumpableContextFn as FromDumpableContextFn
from .nodes import GetAttrKey as GetAttrKey
from .nodes import KeyEntry as KeyEntry
from .nodes import MappingKey as MappingKey
from .nodes import NodeDef as NodeDef
from .nodes import SequenceKey as SequenceKey
from .nodes import ToDumpableContextFn as ToDumpableContextFn
from .nodes import UnflattenFn as UnflattenFn
from .nodes import _dict_flatten as _dict_flatten
from .nodes import _dict_flatten_with_keys as _dict_flatten_with_keys
from .nodes import _dict_unflatten as _dict_unflatten
from .nodes import is_namedtuple as is_namedtuple
from .nodes import is_namedtuple_class as is_namedtuple_class
from .nodes import is_namedtuple_instance as is_namedtuple_instance
from .nodes import is_structseq as is_structseq
from .nodes import is_structseq_class as is_structseq_class
from .nodes import is_structseq_instance as is_structseq_instance
from .nodes import node_type
from .nodes import register_pytree_node as register_pytree_node
from .serialized import treespec_dumps as treespec_dumps
from .serialized import treespec_loads as treespec_loads
from .serialized import treespec_pprint as treespec_pprint
from .spec import LeafSpec as LeafSpec
from .spec import TreeSpec as TreeSpec
from .spec import treespec_dict as treespec_dict
from .spec import treespec_leaf as treespec_leaf
from .spec import treespec_list as treespec_list
from .spec import treespec_tuple as treespec_tuple
from .traversal import KeyPath as KeyPath
from .traversal import PyTree as PyTree
from .traversal import arg_tree_leaves as arg_tree_leaves
from .traversal import broadcast_to_and_flatten as broadcast_to_and_flatten
from .traversal import key_get as key_get
from .traversal import keystr as keystr
from .traversal import tree_all as tree_all
from .traversal import tree_all_only as tree_all_only
from .traversal import tree_any as tree_any
from .traversal import tree_any_only as tree_any_only
from .traversal import tree_flatten as tree_flatten
from .traversal import tree_flatten_with_path as tree_flatten_with_path
from .traversal import tree_is_leaf as tree_is_leaf
from .traversal import tree_iter as tree_iter
from .traversal import tree_leaves as tree_leaves
from .traversal import tree_leaves_with_path as tree_leaves_with_path
from .traversal import tree_map as tree_map
from .traversal import tree_map_ as tree_map_
from .traversal import tree_map_only as tree_map_only
from .traversal import tree_map_only_ as tree_map_only_
from .traversal import tree_map_with_path as tree_map_with_path
from .traversal import tree_structure as tree_structure
from .traversal import tree_unflatten as tree_unflatten

# Names that PyTorch keeps to itself and programs use all the same.
_broadcast_to_and_flatten = broadcast_to_and_flatten
_get_node_type = node_type
_register_pytree_node = register_pytree_node
_is_leaf = tree_is_leaf
PyTreeSpec = TreeSpec
