"""Write ``docs/ascend-aclnn.md``: which operators have a function of CANN's, and what reaches it.

``python make_aclnn.py [--check]``. It needs no MindSpore: names of functions and signatures of primitives are those of
`snapshots/ascend_signatures.json`, and what both targets share is read off ``docs/ascend-operators.md``.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from mt_core.dispatch.registry import COMPOSITES, CONTRACT_KERNELS, find_overload
from mt_core.plugins.coverage import coverage
from mt_core.testing.exam import APPLIES, examined_operators
from mt_mindspore.kernels.ascend_calls import CALLS, INPLACE

HERE = Path(__file__).parent
DOCS = HERE.parents[2] / "docs"
PAGE = DOCS / "ascend-aclnn.md"
SNAPSHOT = json.loads((HERE / "snapshots" / "ascend_signatures.json").read_text(encoding="utf-8"))
BY_NAME = {name.removeprefix("aclnn").lower(): name for name in SNAPSHOT["aclnn"]}
HEAD = """\
# Functions of CANN's

<!-- Written by packages/mt-mindspore/tests/make_aclnn.py; do not edit. -->

Every operator for which `mt-backend-cpu` has a kernel of its own, and the function of CANN's that bears its name, of
the {functions} `aclnn` functions that MindSpore {version}'s library of Ascend's kernels names. **Primitive** is what
device `npu` calls on Ascend; its arguments are compared with the signatures that MindSpore itself gives of {primitives}
primitives. No line has run on an Ascend device; what a primitive calculates on MindSpore's CPU target, where it has a
kernel there, is compared with the operator (`take_exam.py --table Ascend`).
"""
#: Functions that bear an operator's name in other words.
OTHER_WORDS = {
    "_fused_rms_norm": "RmsNorm", "_plain_attention": "FlashAttentionScore", "_prelu_kernel": "Prelu",
    "_prelu_kernel_backward": "PreluBackward", "bitwise_left_shift.Tensor": "LeftShift", "bmm": "BatchMatMul",
    "clamp_min": "ClampMin", "col2im": "Im2colBackward", "grid_sampler_2d": "GridSampler2D",
    "grid_sampler_3d": "GridSampler3D", "index_put": "IndexPutImpl", "linalg_qr": "LinalgQr",
    "linalg_vector_norm": "LinalgVectorNorm", "log_sigmoid_forward": "LogSigmoidForward",
    "masked_fill.Scalar": "InplaceMaskedFillScalar", "masked_fill.Tensor": "InplaceMaskedFillTensor",
    "max_pool2d_with_indices": "MaxPool2dWithIndices", "pow.Scalar": "PowScalarTensor", "prod.dim_int": "ProdDim",
    "remainder.Scalar": "RemainderTensorScalar", "remainder.Scalar_Tensor": "RemainderScalarTensor",
    "remainder.Tensor": "RemainderTensorTensor", "round": "RoundDecimals", "split_with_sizes": "SplitWithSize",
    "std_mean.correction": "StdMeanCorrection", "sum": "ReduceSum", "sum.dim_IntList": "ReduceSum", "trace": "Trace",
    "where.self": "SWhere",
}  # fmt: skip
#: Why a primitive is not called that the wheel has under an operator's name.
REASONS = {
    "_batch_norm": "`BatchNormExt` writes running statistics, which the operator does not have",
    "_batch_norm_backward": "`BatchNormGradExt` takes running statistics, which the operator does not have",
    "cross_entropy_loss": "written in `_log_softmax` and `nll_loss_forward`",
    "index_copy": "the primitive writes into its operand; written in other operators",
    "index_put": "the primitive writes into its operand; written in other operators",
    "layer_norm": "written in `native_layer_norm`",
    "log_softmax.int": "written in `_log_softmax`",
    "one_hot": "`OneHotExt` takes the two values as tensors; written in other operators",
    "put": "the primitive writes into its operand; written in other operators",
    "rms_norm": "written in `_fused_rms_norm`",
    "softmax.int": "written in `_softmax`",
    "unique_consecutive": "`UniqueConsecutive` makes results of other shapes where they are not asked for",
}
RANDOM = "numbers are drawn on the host: streams are PyTorch's"
RANDOM_NAMES = re.compile(
    r"^rand|normal|bernoulli|uniform|exponential|cauchy|geometric|nomial$|poisson|standard_gamma$|sample_dirichlet$"
)


def words_of(operator: str) -> Iterator[str]:
    """What a function of an operator's name may be called, the closest first."""
    base, _, overload = operator.partition(".")
    base = re.sub(r"^(native|linalg)_", "", base.strip("_"))
    base = re.sub(r"_(kernel|forward|data|ex)\b", "", base).replace("_", "").lower()
    overload = overload.replace("_", "").lower()
    yield from (base + overload, base, f"{base}tensor", f"{base}v2", f"inplace{base}")


def function_of(operator: str) -> str:
    """CANN's function of an operator's name; nothing where there is none."""
    words = OTHER_WORDS.get(operator)
    if words is not None:
        return BY_NAME[words.lower()]
    return next((BY_NAME[word] for word in words_of(operator) if word in BY_NAME), "")


def shared() -> set[str]:
    """Operators with a kernel, written in MindSpore's functions, that both targets share."""
    page = (DOCS / "ascend-operators.md").read_text(encoding="utf-8")
    return set(re.findall(r"^\| `([^`]+)` \| [^|]+ \| as CPU \|", page, re.MULTILINE))


def reached(operator: str, shared_names: set[str]) -> tuple[str, str]:
    """The primitive, and otherwise why there is none."""
    if operator in CALLS:
        also = f", in place `{INPLACE[operator][0].primitive}`" if operator in INPLACE else ""
        return f"`{CALLS[operator].primitive}`{also}", ""
    if operator in shared_names:
        return "(functions)", ""
    declaration = find_overload(operator).declaration
    if declaration.kind == "view":
        return "", "a view: no kernel"
    if RANDOM_NAMES.search(operator.partition(".")[0].rstrip("_")) and not operator.endswith("_grad"):
        return "", RANDOM
    if operator in REASONS:
        return "", REASONS[operator]
    if operator in COMPOSITES or operator in CONTRACT_KERNELS:
        return "", "written in other operators"
    return "", "the wheel has no primitive for it; refused by name"


def page() -> str:
    state = coverage("cpu")
    names = sorted(o.name for o in examined_operators() if APPLIES["test_agrees_with_reference"](o))
    names = [name for name in names if state[name].state == "native"]
    both = shared()
    functions = {name: function_of(name) for name in names}
    rows = {name: reached(name, both) for name in names}
    of_name = [name for name in names if functions[name]]
    others = [name for name in names if not functions[name]]
    served = [name for name in others if rows[name][0]]
    reached_of_name = sum(bool(rows[name][0]) for name in of_name)
    summary = (
        f"Of {len(names)} operators {len(of_name)} have a function of their name, and {reached_of_name} of these are "
        f"reached; of the other {len(others)}, other primitives or functions serve {len(served)}. "
        f"Together {reached_of_name + len(served)}."
    )
    facts = {
        "functions": len(SNAPSHOT["aclnn"]),
        "version": SNAPSHOT["version"],
        "primitives": len(SNAPSHOT["primitives"]),
    }
    lines = [
        HEAD.format(**facts),
        summary,
        "",
        "## With a function of their name",
        "",
        "| operator | function | primitive | why not |",
        "|---|---|---|---|",
        *(f"| `{n}` | `{functions[n]}` | {rows[n][0]} | {rows[n][1]} |" for n in of_name),
        "",
        "## Without one, served by others",
        "",
        "| operator | primitive |",
        "|---|---|",
        *(f"| `{n}` | {rows[n][0]} |" for n in served),
        "",
        "## Without one",
        "",
        *(
            f"- {reason}: {', '.join(f'`{n}`' for n in others if not rows[n][0] and rows[n][1] == reason)}"
            for reason in dict.fromkeys(rows[n][1] for n in others if not rows[n][0])
        ),
        "",
    ]
    return "\n".join(lines)


def main() -> int:
    text = page()
    if "--check" in sys.argv[1:]:
        if PAGE.read_text(encoding="utf-8") != text:
            print(f"{PAGE.name} is not what {Path(__file__).name} writes: run it again")
            return 1
        return 0
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
