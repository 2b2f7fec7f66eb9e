"""Write `fuzz_differences.toml`: the stored random programs that still differ; ``--show`` prints what differs."""

from __future__ import annotations

import sys

from fuzz_sample import DIFFERENCES, PROGRAMS, differences_of, text_of


def main() -> None:
    found = {seed: differences_of(seed) for seed in PROGRAMS}
    if "--show" not in sys.argv:
        DIFFERENCES.write_text(text_of(found), encoding="utf-8")
    for seed, differences in found.items() if "--show" in sys.argv else ():
        for (field, kind), difference in differences.items():
            line = (PROGRAMS[seed]["lines"] + ["(end)"])[difference.line]
            print(f"{seed} {field} | {kind}\n    {line:.300}\n    {difference.name}: {difference[3:]!r:.300}")
    print(f"{sum(map(bool, found.values()))} of {len(found)} programs differ")


if __name__ == "__main__":
    main()
