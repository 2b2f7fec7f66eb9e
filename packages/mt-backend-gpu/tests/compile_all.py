"""``python compile_all.py``: compile kernels for every architecture with NVRTC, and print what they use.

No device is needed. Spills and shared memory are bounded: the exit status says whether a kernel is beyond them.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator

from mt_backend_gpu.compiled import nvrtc
from mt_backend_gpu.compiled.machine import source_of

ARCHITECTURES = (80, 90, 100, 120)
#: Bytes.
MOST_SPILLED, MOST_STATIC_SHARED = 64, 48 * 1024
#: Family -> forms; T is an element type, C what it is computed in, V elements of 16 bytes.
FORMS = {
    "elementwise": (
        "pointwise<add_scaled, {T}, {V}, {T}, {T}, {T}>", "pointwise_strided<number_right<mul>, {T}, {T}, {T}>",
        "pointwise<gelu, {T}, {V}, {T}, {T}>", "pointwise<gelu_backward, {T}, {V}, {T}, {T}, {T}>", "fill<{T}, {T}>",
        "pointwise<where, {T}, {V}, {T}, bool, {T}, {T}>", "pointwise<floor_divide, {T}, {V}, {T}, {T}, {T}>",
    ),
    "softmax": (
        "softmax_rows<{T}, {T}, false, {V}, 4>", "softmax_long_rows<{T}, {T}, true, {V}>",
        "softmax_inner<{T}, {T}, true>",
        "softmax_backward_packs<{T}, {T}, false, {V}, 4>", "softmax_backward_rows<{T}, {T}, true>",
        "softmax_backward_inner<{T}, {T}, false>",
    ),
    "reduction": (
        "reduce<variance, {T}, {T}, {V}>", "reduce<argmax, {T}, i64, {V}>", "reduce_columns<sum, {T}, {T}>",
        "join_parts<amax, {T}, {T}>",
    ),
    "norm": (
        "norm_rows<{T}, {T}, false, false, {V}, 4>", "norm_rows<{T}, {T}, true, false, 1, 0>",
        "norm_rows<{T}, {T}, false, true, 1, 0>", "norm_backward_rows<{T}, {T}, false, true>",
        "norm_backward_packs<{T}, {T}, false, {V}, 4>", "norm_backward_weight<{T}, {T}, false, 4>",
        "norm_join_weight<{C}, {T}>", "channel_statistics<{T}, {C}>", "channel_affine<{T}, {C}, {C}, true>",
        "channel_backward_sums<{T}, {C}, {C}, false>", "channel_backward_input<{T}, {C}, {C}, false>",
        "group_backward_weight<{T}, {T}>",
    ),
    "loss": (
        "nll_forward<{T}, i64, 1>", "nll_backward<{T}, i64, 0>", "cross_entropy_rows<{T}, i64>",
        "cross_entropy_backward<{T}, i64>",
    ),
    "indexing": (
        "take_rows<{T}, i64, {V}>", "add_rows<{T}, {C}, i64>", "gather<{T}, i64>", "scatter<{T}, i64, true>",
        "scatter_value<{T}, i64>", "index_get<{T}>", "index_put<{T}, true>",
    ),
    "random": ("draw<uniform, {T}, {C}>", "draw<normal, {T}, {C}>", "draw<exponential, {T}, {C}>", "dropout<{T}, {V}>"),
    "optimizers": ("adam<{T}, true, true>", "sgd<{T}, true>", "for_each<list_add, {T}, true>"),
}  # fmt: skip
TYPES = {"float": ("float", 4), "double": ("double", 2), "bf16": ("float", 8), "f16": ("float", 8)}
#: What is not made for every floating type.
OTHERS = {
    "join": ("cat<Pack<u64, 2>>", "cat<uint8_t>"),
    "random": ("draw<integers, i64, u32>", "draw<long_integers, i64, u64>", "philox_words"),
    "elementwise": ("pointwise<remainder_, i64, 2, i64, i64, i64>", "pointwise<shift_left, int, 4, int, int, int>"),
    "attention": (
        "attention_forward<bf16, 64>", "attention_forward<f16, 128>", "attention_backward_keys<bf16, 64>",
        "attention_backward_queries<bf16, 64>",
    ),
}  # fmt: skip


def instances(family: str) -> list[str]:
    """The instances of a family that are compiled."""
    made = [form.format(T=t, C=c, V=v) for form in FORMS.get(family, ()) for t, (c, v) in TYPES.items()]
    return made + list(OTHERS.get(family, ()))


def uses(log: str) -> Iterator[tuple[str, int, int, int]]:
    """Mangled name, registers, spilled bytes and static shared memory of each kernel in an assembler's log."""
    name = ""
    spilled = 0
    for line in log.splitlines():
        if found := re.search(r"entry function '(\w+)'", line):
            name = found[1]
        elif found := re.search(r"(\d+) bytes spill stores", line):
            spilled = int(found[1])
        elif found := re.search(r"Used (\d+) registers", line):
            shared = re.search(r"(\d+) bytes smem", line)
            yield name, int(found[1]), spilled, int(shared[1]) if shared else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--architectures", type=int, nargs="*", default=ARCHITECTURES)
    parser.add_argument("--families", nargs="*", default=sorted({*FORMS, *OTHERS}))
    options = parser.parse_args()
    beyond = 0
    for architecture in options.architectures:
        for family in options.families:
            given = [f"--gpu-architecture=sm_{architecture}", "--std=c++17", "--ptxas-options=-v"]
            made = nvrtc.compile_source(source_of(family), instances(family), given)
            found = list(uses(made.log))
            assert len(found) == len(instances(family)), f"the log of {family} was not understood"
            over = [use for use in found if use[2] > MOST_SPILLED or use[3] > MOST_STATIC_SHARED]
            beyond += len(over)
            most = max(use[1] for use in found)
            print(f"sm_{architecture} {family:12s} {len(found):3d} kernels, registers up to {most}", *over)
    return bool(beyond)


if __name__ == "__main__":
    sys.exit(main())
