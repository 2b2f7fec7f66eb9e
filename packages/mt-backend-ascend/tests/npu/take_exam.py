"""Take the exam of device ``npu`` on MindSpore's CPU target: ``python take_exam.py [--operators REGEX] [--part 1/5]``.

``--jobs 2`` takes two halves of it at once. ``--table Ascend`` asks the operators of Ascend's table alone, and lets the
primitives that it names calculate on the CPU, as far as they have a kernel there: whether a primitive is the operator.

MindSpore can end the process that it runs in. So a child takes the checks and writes down each before it begins, and
where it dies, the check that it was at has failed, and another child goes on behind it. With ``--gaps`` the
failures are written down as known gaps.
"""

from __future__ import annotations

import argparse
import collections
import itertools
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Collection, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
GAPS = {"CPU": HERE.parent / "gaps.toml", "Ascend": HERE.parent / "ascend_gaps.toml"}
ABOUT = {
    "CPU": "What device npu does not do on MindSpore's CPU target",
    "Ascend": "What primitives of Ascend's table do not do, or do otherwise, on MindSpore's CPU target --table Ascend",
}
#: Seconds after which one check is given up.
LIMIT = 240


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--operators", default="", help="a regular expression")
    parser.add_argument("--checks", default="", help="a regular expression")
    parser.add_argument("--table", choices=sorted(GAPS), default="CPU", help="whose kernels")
    parser.add_argument("--part", default="1/1", help="which part of how many: 3/8")
    parser.add_argument("--seconds", type=float, default=1e9, help="fail when it takes longer")
    parser.add_argument("--gaps", action="store_true", help="write what failed into gaps.toml, for the checks taken")
    parser.add_argument("--no-gaps", action="store_true", help="as if none were known")
    parser.add_argument("--jobs", type=int, default=1, help="how many children at once")
    parser.add_argument("--job", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--from", dest="begin", type=int, help=argparse.SUPPRESS)
    return parser.parse_args()


def checks_of(options: argparse.Namespace) -> list[tuple[str, str, Any]]:
    """(check, operator, its function) of all that is asked."""
    from mt_core.testing import BackendExam, read_gaps
    from mt_core.testing.exam import APPLIES

    gaps = {} if options.no_gaps or options.gaps else read_gaps(GAPS[options.table])
    wanted = lay_ascend() if options.table == "Ascend" else None
    exam = type("Exam", (BackendExam,), {"device_type": "npu", "gaps": gaps})()
    part, parts = map(int, options.part.split("/"))
    every = [
        (check.removeprefix("test_"), operator, getattr(exam, check))
        for check in APPLIES
        for operator in exam.operators(check)
        if re.search(options.operators, operator) and re.search(options.checks, check)
        and (wanted is None or operator in wanted and check in TELLS_VALUES)
    ]  # fmt: skip
    return every[part - 1 :: parts][options.job :: options.jobs]


def lay_ascend() -> Collection[str]:
    """Put Ascend's table before those of the CPU target; what it has."""
    from mt_mindspore import registry

    def both(target: str) -> list[registry.Table]:
        *_, table = of("Ascend")
        table.inplace.clear()  # on the CPU these write nothing
        return [*of(target), table]

    of, registry.tables_of = registry.tables_of, both
    from mt_mindspore.kernels.ascend_calls import CALLS

    return CALLS


#: The checks that show whether a primitive is the operator: that any sample is taken, and the values.
TELLS_VALUES = ("test_agrees_with_meta", "test_agrees_with_reference")


class GivenUp(Exception):
    """A check took too long."""


def give_up(*args: Any) -> None:
    raise GivenUp(f"took more than {LIMIT} s")


def take(options: argparse.Namespace) -> None:
    """The child: each check's place and name, then its failure, as lines of JSON."""
    signal.signal(signal.SIGALRM, give_up)
    for place, (check, operator, run) in enumerate(checks_of(options)):
        if place < options.begin:
            continue
        print(json.dumps([place, check, operator]), flush=True)
        signal.alarm(LIMIT)
        try:
            run(operator)
            said = ""
        except Exception as error:  # noqa: BLE001 - whatever a backend raises is what the report is for
            said = " ".join(f"{type(error).__name__}: {error}".split())[:600]
        finally:
            signal.alarm(0)
        print(json.dumps(said), flush=True)


def outcomes(job: int) -> Iterator[tuple[str, str, str]]:
    """(check, operator, what was said) of a job's checks, by as many children, one after the other, as it takes."""
    begin = 0
    while True:
        command = [sys.executable, __file__, *sys.argv[1:], "--job", str(job), "--from", str(begin)]
        environment = os.environ | {"MT_ASCEND_TARGET": "CPU", "GLOG_v": "4", "OMP_NUM_THREADS": "1"}
        child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        at: list[Any] = []
        assert child.stdout is not None
        for line in child.stdout:
            if not line.startswith(("[", '"')):
                continue  # MindSpore's own words
            told = json.loads(line)
            if isinstance(told, list):
                at = told
            else:
                yield at[1], at[2], told
                begin, at = at[0] + 1, []
        ended = child.wait()
        if not ended and not at:
            return
        if not at:
            raise SystemExit(f"the exam ended with {ended} between two checks")
        yield at[1], at[2], f"{ENDED} {ended}"
        begin = at[0] + 1


#: What is said of a check whose process MindSpore ended, and the reason of its gap.
ENDED, REASON_ENDED = "the process ended with", "MindSpore ends the process"
#: What MindSpore says -> the reason of a gap, where many operators share it.
REASONS = (
    (ENDED, REASON_ENDED),
    ("took more than", "takes too long on MindSpore's CPU target"),
    ("could not find kernel", "MindSpore has no kernel on its CPU target"),
    ("Could not run", "MindSpore has no kernel on its CPU target"),
    ("no sample of", "MindSpore has no kernel on its CPU target for any sample's dtype"),
)


#: Where a check asks more than PyTorch does, on every device: the reason.
AS_PYTORCH = {
    "empty.memory_format_out": "gives a shape and writes nothing, so that PyTorch does not look at the memory either",
    "conj_physical_": "a real tensor is its own conjugate: nothing is written, and PyTorch does not look at its memory",
    "_pack_padded_sequence": "the sizes of the steps are on the CPU, as in PyTorch: the host loops over them",
    "_pad_packed_sequence": "the lengths of the sequences are on the CPU, as in PyTorch: the host loops over them",
    "view.dtype": "as in PyTorch, it counts as a tensor of its own on the same memory",
}
#: What MindSpore's kernels for the CPU do otherwise than an operator of Ascend's table that is named rightly.
CPU_KERNELS = {
    **dict.fromkeys(("amax", "amin", "max", "min", "maximum", "minimum"), "MindSpore's CPU kernel loses NaN"),
    **dict.fromkeys(("any.dim", "any.dims"), "MindSpore's CPU kernel takes fractions for zero"),
    **dict.fromkeys(("deg2rad", "rad2deg", "hardsigmoid_backward"), "float64 in single precision; Ascend has none"),
    "native_group_norm_backward": "right where mean and rstd are those of the input, which the sample's are not",
    "nll_loss_forward": "MindSpore's CPU kernel does not ignore an index where losses are not put together",
}
#: Checks that say nothing of what an operator calculates.
_FORMAL = frozenset(("refusal_harms_nothing", "stays_on_its_device", "views_alias"))


def reason_of(table: str, check: str, operator: str, said: str) -> str:
    """A gap's reason."""
    if (
        table == "Ascend"
        and said.startswith("AssertionError: ")
        and "no sample" not in said
        and operator in CPU_KERNELS
    ):
        return CPU_KERNELS[operator]
    if check in _FORMAL and operator in AS_PYTORCH:
        return AS_PYTORCH[operator]
    found = next((reason for words, reason in REASONS if words in said), "")
    return found or said.replace("\\", " ").replace('"', "'")[:140]


def write_gaps(table: str, taken: Iterable[str], failures: list[tuple[str, str, str]]) -> None:
    """Write what failed, and what was known of the checks that were not taken."""
    from mt_core.testing import read_gaps

    by_check: dict[str, list[tuple[str, str]]] = collections.defaultdict(list)
    for check, known in read_gaps(GAPS[table]).items():
        if check not in taken:
            by_check[check] = list(known.items())
    for check, operator, said in failures:
        by_check[check].append((operator, reason_of(table, check, operator, said)))
    lines = [f"# {ABOUT[table]}; written by take_exam.py --gaps."]
    for check, found in sorted(by_check.items()):
        lines += ["", f"[{check}]", *(f'"{operator}" = "{reason}"' for operator, reason in sorted(set(found)))]
    GAPS[table].write_text("\n".join(lines) + "\n", encoding="utf-8")


def main() -> int:
    options = parsed()
    if options.begin is not None:
        take(options)
        return 0
    from mt_core.testing import read_gaps

    known = {} if options.no_gaps or options.gaps else read_gaps(GAPS[options.table])
    start, taken, failures = time.monotonic(), collections.Counter[str](), []
    with ThreadPoolExecutor(options.jobs) as pool:
        for check, operator, said in itertools.chain(*pool.map(lambda job: list(outcomes(job)), range(options.jobs))):
            taken[check] += 1
            if said.startswith(ENDED) and known.get(check, {}).get(operator) == REASON_ENDED:
                continue
            if said:
                failures.append((check, operator, said))
                print(check, operator, said, sep=" | ", flush=True)
    seconds = time.monotonic() - start
    print(json.dumps(taken), f"{len(failures)} failed, {seconds:.0f} s")
    if options.gaps:
        write_gaps(options.table, taken, failures)
        return 0
    return bool(failures) or seconds > options.seconds


if __name__ == "__main__":
    sys.exit(main())
