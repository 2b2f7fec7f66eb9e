"""Containers behave as the Python collections they are named after."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import mt_core as mt
import mt_nn as nn

LEAVES = [nn.ReLU, nn.Tanh, nn.Sigmoid, nn.SiLU]
modules = st.lists(st.sampled_from(LEAVES), max_size=6).map(lambda classes: [cls() for cls in classes])
indices = st.integers(-8, 8)
slices = st.builds(slice, st.none() | indices, st.none() | indices, st.none() | st.integers(1, 3))
CONTAINERS = [nn.ModuleList, lambda entries: nn.Sequential(*entries)]


@pytest.mark.parametrize("make", CONTAINERS)
@given(entries=modules, index=indices)
def test_indexing(make, entries, index):
    container = make(entries)
    if -len(entries) <= index < len(entries):
        assert container[index] is entries[index]
    else:
        with pytest.raises(IndexError, match=f"index {index} is out of range"):
            container[index]


@pytest.mark.parametrize("make", CONTAINERS)
@given(entries=modules, part=slices)
def test_slicing(make, entries, part):
    assert list(make(entries)[part]) == entries[part]


@pytest.mark.parametrize("make", CONTAINERS)
@given(entries=modules, part=slices)
def test_deleting(make, entries, part):
    container = make(entries)
    del container[part]
    del entries[part]
    assert list(container) == entries
    assert list(container._modules) == [str(position) for position in range(len(entries))]


@pytest.mark.parametrize("make", CONTAINERS)
@given(entries=modules, more=modules)
def test_joining(make, entries, more):
    assert list(make(entries) + make(more)) == entries + more
    container = make(entries)
    container += make(more)
    assert list(container) == entries + more


@pytest.mark.parametrize("make", CONTAINERS)
@given(entries=modules.filter(bool), data=st.data())
def test_inserting_and_popping(make, entries, data):
    container = make(entries)
    position = data.draw(st.integers(0, len(entries)))
    extra = nn.GELU()
    container.insert(position, extra)
    entries.insert(position, extra)
    assert list(container) == entries
    chosen = data.draw(st.integers(-len(entries), len(entries) - 1))
    assert container.pop(chosen) is entries.pop(chosen)
    assert list(container) == entries


@given(entries=modules, times=st.integers(1, 3))
def test_repeating_a_sequential(entries, times):
    assert list(nn.Sequential(*entries) * times) == entries * times


@given(st.dictionaries(st.sampled_from("abcdef"), st.sampled_from(LEAVES).map(lambda cls: cls())))
def test_module_dict(entries):
    container = nn.ModuleDict(entries)
    assert dict(container.items()) == entries
    assert list(container.keys()) == list(entries) and list(container.values()) == list(entries.values())
    assert all(name in container and container[name] is module for name, module in entries.items())
    for name in list(entries):
        assert container.pop(name) is entries.pop(name)
    assert len(container) == 0


@given(st.lists(st.integers(0, 3), max_size=5))
def test_parameter_list(sizes):
    container = nn.ParameterList(mt.ones(size) for size in sizes)
    assert len(container) == len(list(container.parameters())) == len(sizes)
    assert [entry.shape for entry in container] == [(size,) for size in sizes]
    assert all(isinstance(entry, nn.Parameter) for entry in container)


@given(st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 3)))
def test_parameter_dict(sizes):
    container = nn.ParameterDict({name: mt.ones(size) for name, size in sizes.items()})
    assert {name: entry.numel() for name, entry in container.items()} == sizes
    assert dict(container.named_parameters()).keys() == sizes.keys()
    doubled = container | {"extra": mt.ones(1)}
    assert "extra" in doubled and "extra" not in container
    for name in sizes:
        del container[name]
    assert list(container) == [] and list(container.parameters()) == []


def test_sequential_passes_results_on():
    model = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
    x = mt.ones(4, 2)
    assert mt.equal(model(x), model[2](model[1](model[0](x))))
