"""Views: one memory, one version, the base they name."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import mt_core
from mt_core.shape_rules.view import view_strides

VIEWS = {
    "view": lambda x: x.view(4, 3),
    "transpose": lambda x: x.transpose(0, 1),
    "permute": lambda x: x.permute(1, 0),
    "t": lambda x: x.t(),
    "slice": lambda x: x[1:, ::2],
    "select": lambda x: x[1],
    "element": lambda x: x[1, 2],
    "newaxis": lambda x: x[:, None],
    "ellipsis": lambda x: x[..., 1],
    "diagonal": lambda x: x.diagonal(),
    "unbind": lambda x: x.unbind()[1],
    "split": lambda x: x.split(2, 1)[1],
    "expand": lambda x: x[:, :1].expand(3, 4),
    "as_strided": lambda x: x.as_strided((2, 2), (4, 1), 1),
    "narrow": lambda x: x.narrow(1, 1, 2),
    "squeeze": lambda x: x[:1].squeeze(0),
    "unfold": lambda x: x.unfold(1, 2, 1),
    "detach": lambda x: x.detach(),
    "flatten": lambda x: x.flatten(),
    "chunk": lambda x: x.chunk(2)[0],
    "reshape": lambda x: x.reshape(2, 6),
    "view_dtype": lambda x: x.view(mt_core.int32),
    "mT": lambda x: x.mT,
}


@pytest.mark.parametrize("name", VIEWS)
def test_writing_to_the_base_shows_in_the_view(name: str) -> None:
    base = mt_core.arange(1.0, 13.0).clone().view(3, 4).clone()
    view = VIEWS[name](base)
    base.zero_()
    assert not view.any()


@pytest.mark.parametrize("name", VIEWS)
def test_one_version(name: str) -> None:
    base = mt_core.ones(3, 4)
    view = VIEWS[name](base)
    base.add_(1)
    assert view._version == base._version == 1


@pytest.mark.parametrize("name", [n for n in VIEWS if n not in ("detach", "view_dtype")])
def test_views_name_their_base(name: str) -> None:
    base = mt_core.ones(3, 4)
    assert VIEWS[name](base)._base is base
    assert VIEWS[name](base)._is_view()


def test_what_is_read_as_another_dtype_is_a_tensor_of_its_own() -> None:
    base = mt_core.ones(3, 4)
    other = base[1:].view(mt_core.int32)
    assert other._base is None and not other._is_view() and other.storage_offset() == 4
    assert other.untyped_storage().data_ptr() == base.untyped_storage().data_ptr()


def test_a_view_of_a_view_names_the_first_base() -> None:
    base = mt_core.ones(3, 4)
    assert base.t()[1:]._base is base


def test_data_has_a_version_of_its_own() -> None:
    x = mt_core.ones(3)
    x.data.add_(1)
    assert x._version == 0 and x.tolist() == [2, 2, 2]


def test_one_element_views_alias() -> None:
    x = mt_core.ones(3)
    x[1].fill_(5)
    assert x.tolist() == [1, 5, 1]


@pytest.mark.parametrize(
    "operation", [lambda x: x + 1, lambda x: x.clone(), lambda x: x.contiguous().clone(), lambda x: x.t().reshape(12)]
)
def test_what_copies_is_no_view(operation) -> None:
    x = mt_core.zeros(3, 4)
    made = operation(x)
    made.fill_(9)
    assert not x.any()


def test_offsets_and_addresses() -> None:
    x = mt_core.zeros(3, 4)
    view = x[1:, 2:]
    assert view.storage_offset() == 6 and view.stride() == (4, 1)
    assert view.data_ptr() - x.data_ptr() == 6 * 4
    assert view.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()


@pytest.mark.parametrize("ones", [0, 1, 2, 3])
def test_a_number_is_viewed_with_dimensions_of_one(ones: int) -> None:
    assert view_strides((), (), (1,) * ones) == (1,) * ones


def test_view_refuses_what_it_cannot_reach() -> None:
    with pytest.raises(RuntimeError, match="view size is not compatible with input tensor's size and stride"):
        mt_core.zeros(3, 4).t().view(12)
    with pytest.raises(RuntimeError, match=r"shape '\[5\]' is invalid for input of size 12"):
        mt_core.zeros(3, 4).view(5)


steps = st.lists(
    st.one_of(
        st.tuples(st.just("transpose"), st.integers(-3, 2), st.integers(-3, 2)),
        st.tuples(st.just("slice"), st.integers(0, 2), st.integers(1, 2)),
        st.tuples(st.just("flip_order"), st.permutations(range(3))),
    ),
    max_size=5,
)


@given(steps)
def test_chains_of_views_reach_the_same_elements_as_copies(chain) -> None:
    view = mt_core.arange(60).view(3, 4, 5)
    copy = view.numpy().copy()
    for kind, *arguments in chain:
        if kind == "transpose":
            view, copy = view.transpose(*arguments), copy.swapaxes(*arguments)
        elif kind == "slice":
            dim, step = arguments
            index = (slice(None),) * dim + (slice(None, None, step),)
            view, copy = view[index], copy[index].copy()
        else:
            view, copy = view.permute(*arguments[0]), copy.transpose(arguments[0])
    assert view.tolist() == copy.tolist()
    assert view.contiguous().tolist() == copy.tolist()
