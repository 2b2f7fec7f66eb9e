"""Pack the direction numbers of Sobol' sequences: `mt_backend_cpu/kernels/sobol_directions.bin`.

``pack_sobol_directions.py FILE`` reads the table new-joe-kuo-6.21201 that S. Joe and F. Y. Kuo publish at
https://web.maths.unsw.edu.au/~fkuo/sobol/ (lines ``d s a m_1 ... m_s``, BSD licence), or the one that SciPy's wheel
carries as ``scipy/stats/_sobol_direction_numbers.npz``. ``--check FILE`` compares.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

TARGET = Path(__file__).parents[1] / "src/mt_backend_cpu/kernels/sobol_directions.bin"


def entries(source: Path) -> list[tuple[int, int, list[int]]]:
    """(degree, inner coefficients, m_1 to m_degree) of each dimension from the second on."""
    if source.suffix == ".npz":
        table = np.load(source)
        degrees = [int(p).bit_length() - 1 for p in table["poly"]]
        return [
            (s, int(p) >> 1 & (1 << s - 1) - 1, [int(m) for m in row[:s]])
            for s, p, row in list(zip(degrees, table["poly"], table["vinit"], strict=True))[1:]
        ]
    lines = [[int(word) for word in line.split()] for line in source.read_text().splitlines()[1:]]
    return [(s, a, numbers) for _, s, a, *numbers in lines]


def packed(source: Path) -> bytes:
    parts = []
    for degree, inner, numbers in entries(source):
        bits = format(inner, f"0{degree - 1}b") if degree > 1 else ""
        bits += "".join(format(m >> 1, f"0{i}b") for i, m in enumerate(numbers) if i)
        parts.append(bits)
    flags = np.frombuffer("".join(parts).encode(), np.uint8) - ord("0")
    return np.packbits(flags).tobytes()


if __name__ == "__main__":
    made = packed(Path(sys.argv[-1]))
    if "--check" in sys.argv:
        sys.exit(0 if made == TARGET.read_bytes() else "sobol_directions.bin differs")
    TARGET.write_bytes(made)
    print(f"{TARGET.name}: {len(made) / 1024:.0f} KiB")
