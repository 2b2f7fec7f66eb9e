"""A few random programs; `./dev fuzz_xla` runs many."""

from __future__ import annotations

import pytest
from random_programs import compared, grown


@pytest.mark.parametrize("seed", range(100000, 100012))
@pytest.mark.filterwarnings("ignore")
def test_a_program_does_what_it_does_as_it_is(seed):
    kind, text = compared(grown(seed), "xla" if seed % 3 == 0 else "cpu")
    assert kind != "differs", text


def test_what_differs_is_seen():
    program = grown(100001)
    text = program.text.replace("    return ", "    return torch.ones(7), ")
    right = type(program)(program.seed, text, program._shapes, program._grads, program._strided)
    wrong = right.function

    def function():
        """Every second one is another program: the compiled ones."""
        function.calls += 1
        if function.calls != 1:
            return wrong()
        return type(program)(0, text.replace("ones(7)", "zeros(7)"), [], [], []).function()

    function.calls = 0
    right.function = function
    assert compared(right, "cpu")[0] == "differs"
