"""Trees of containers."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

import mindtorch as torch
from mindtorch.utils import _pytree as pytree

Point = namedtuple("Point", "x y")

leaves = st.none() | st.integers() | st.text(max_size=3)
trees = st.recursive(
    leaves,
    lambda children: st.one_of(
        st.lists(children, max_size=3),
        st.lists(children, max_size=3).map(tuple),
        st.dictionaries(st.text(max_size=2), children, max_size=3),
        st.dictionaries(st.text(max_size=2), children, max_size=3).map(OrderedDict),
        st.lists(children, max_size=3).map(lambda items: deque(items, maxlen=5)),
        st.tuples(children, children).map(lambda pair: Point(*pair)),
    ),
    max_leaves=12,
)


@given(trees)
def test_flatten_and_unflatten_are_inverse(tree):
    found, spec = pytree.tree_flatten(tree)
    assert pytree.tree_unflatten(found, spec) == tree
    assert spec.num_leaves == len(found)
    assert spec == pytree.tree_structure(tree)
    assert found == pytree.tree_leaves(tree) == list(pytree.tree_iter(tree))


@given(trees)
def test_map_keeps_the_structure(tree):
    mapped = pytree.tree_map(lambda leaf: (leaf,), tree, is_leaf=None)
    assert pytree.tree_leaves(mapped) == pytree.tree_leaves(tree)
    assert pytree.tree_structure(pytree.tree_map(lambda leaf: 0, tree)) == pytree.tree_structure(tree)


@given(trees)
def test_keys_lead_to_their_leaves(tree):
    for path, leaf in pytree.tree_leaves_with_path(tree):
        assert pytree.key_get(tree, path) is leaf


@given(trees)
def test_a_leaf_broadcasts_to_every_tree(tree):
    spec = pytree.tree_structure(tree)
    assert pytree._broadcast_to_and_flatten(7, spec) == [7] * spec.num_leaves


@pytest.mark.parametrize(
    "tree", [{"a": [1, (2, None)], "b": {}}, OrderedDict(a=1), defaultdict(list, a=[1]), deque([1], 3)]
)
def test_structures_survive_json(tree):
    spec = pytree.tree_structure(tree)
    assert pytree.treespec_loads(pytree.treespec_dumps(spec)) == spec


def test_structures_print_as_in_pytorch():
    spec = pytree.tree_structure({"a": [1, (2, None)], "b": {}})
    assert repr(spec) == (
        "TreeSpec(dict, ['a', 'b'], [TreeSpec(list, None, [*,\n    TreeSpec(tuple, None, [*,\n      *])]),\n"
        "  TreeSpec(dict, [], [])])"
    )
    assert pytree.treespec_pprint(spec) == "{'a': [*, (*, *)], 'b': {}}"


def test_named_results_of_operators_are_containers():
    values, spec = pytree.tree_flatten(torch.max(torch.tensor([1.0, 3.0]), 0))
    assert [value.item() for value in values] == [3.0, 1]
    assert pytree.tree_unflatten(values, spec).indices.item() == 1


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ([3], "Node arity mismatch; expected 2, but got 1"),
        ((3, 4), "Node type mismatch; expected <class 'list'>, but got <class 'tuple'>"),
        (5, "Node type mismatch"),
    ],
)
def test_further_trees_must_have_the_structure_of_the_first(other, message):
    with pytest.raises(ValueError, match=message):
        pytree.tree_map(lambda a, b: a + b, [1, 2], other)


def test_further_trees_may_be_deeper_and_mappings_in_another_order():
    pairs = pytree.tree_map(lambda a, b: (a, b), {"a": 1, "b": 2}, OrderedDict(b=[3], a=4))
    assert pairs == {"a": (1, 4), "b": (2, [3])}
    with pytest.raises(ValueError, match="Node keys mismatch; missing key"):
        pytree.tree_map(lambda a, b: (a, b), {"a": 1}, {"b": 3})


def test_the_number_of_leaves_must_fit():
    with pytest.raises(ValueError, match="holds 2 items"):
        pytree.tree_unflatten([1], pytree.tree_structure([1, 2]))


def test_selections():
    tree = [1, "a", 2.0]
    assert pytree.tree_map_only(int, lambda leaf: leaf + 1, tree) == [2, "a", 2.0]
    assert pytree.tree_map_only((int, float), lambda leaf: leaf + 1, tree) == [2, "a", 3.0]
    assert pytree.tree_map_only(lambda leaf: leaf == "a", str.upper, tree) == [1, "A", 2.0]
    assert pytree.tree_any_only(int, lambda leaf: leaf > 0, tree)
    assert pytree.tree_all_only((int, float), lambda leaf: leaf > 0, tree)
    assert not pytree.tree_all(lambda leaf: leaf == 1, tree)
    assert pytree.tree_leaves([1, [2, 3]], is_leaf=lambda tree: tree == [2, 3]) == [1, [2, 3]]


def test_classes_can_be_registered_once():
    class Box:
        def __init__(self, item):
            self.item = item

    register = pytree.register_pytree_node
    register(Box, lambda box: ([box.item], None), lambda items, context: Box(*items))
    assert pytree.tree_map(lambda leaf: leaf + 1, [Box(1)])[0].item == 2
    with pytest.raises(ValueError, match="already registered"):
        register(Box, lambda box: ([box.item], None), lambda items, context: Box(*items))
    with pytest.raises(ValueError, match="flatten_with_keys_fn"):
        pytree.tree_flatten_with_path(Box(1))
    with pytest.raises(NotImplementedError, match="No registered serialization name"):
        pytree.treespec_dumps(pytree.tree_structure(Box(1)))
