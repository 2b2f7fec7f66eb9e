"""``torch.library.opcheck`` of operators whose results have as many elements as elements of others say."""

import pytest

import mindtorch as torch


def _indices_of_ones(layout):
    """An operator whose result has as many rows as there are ones, laid out in one of several ways."""

    @torch.library.custom_op(f"test::rows_{layout}", mutates_args=())
    def rows(x: torch.Tensor) -> torch.Tensor:
        found = x.nonzero()
        return found if layout == "columns" else found.contiguous()

    @rows.register_fake
    def _(x):
        return x.new_empty((torch.library.get_ctx().new_dynamic_size(), x.dim()), dtype=torch.int64)

    return rows


def test_opcheck_passes_sizes_that_depend_on_elements_and_compares_strides_that_tell_elements_apart():
    for x in (torch.ones(2), torch.ones(3, 4), torch.zeros(2, 2)):
        told = torch.library.opcheck(_indices_of_ones("rows"), (x,))
        assert set(told.values()) == {"SUCCESS"}
    torch.library.opcheck(_indices_of_ones("columns"), (torch.ones(3),))
    with pytest.raises(Exception, match=r"Strides are \(1, 12\) and \(2, 1\) \(mismatched at 0\)!"):
        torch.library.opcheck(_indices_of_ones("columns"), (torch.ones(3, 4),), test_utils="test_faketensor")


def test_limits_of_sizes_that_depend_on_elements_are_checked():
    def limited(**limits):
        @torch.library.custom_op("test::limited", mutates_args=())
        def op(x: torch.Tensor) -> torch.Tensor:
            return x.clone()

        @op.register_fake
        def _(x):
            return x.new_empty(torch.library.get_ctx().new_dynamic_size(**limits))

        return torch.library.opcheck(op, (torch.ones(3),), test_utils="test_faketensor")

    assert limited(min=2, max=9)
    with pytest.raises(Exception, match="greater than or equal to 0"):
        limited(min=-1)
    with pytest.raises(Exception, match="can't be less than the specified min value, received min=3 and max=2"):
        limited(min=3, max=2)
