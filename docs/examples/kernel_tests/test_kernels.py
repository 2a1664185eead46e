"""Tests of Tensix kernels without a tolerance: every operation, coarse formats first, every fidelity.

Copy this folder, let `device.run` run your kernels, and start ``pytest test_kernels.py``. A failure prints the first datum that
differs and the stage whose known departure gives the device's bits. Coarse formats come first, since a wrong rounding shows in
more of their datums (tt-metal#44739).
"""

from itertools import product
from zlib import crc32

import numpy as np
import pytest
from device import run

from bitpath.golden.tensix.llk import Case, compare, expected

FORMATS = ("BFP2", "BFP4", "BFP8", "BF16", "FP16")
FIDELITIES = ("LoFi", "HiFi2", "HiFi3", "HiFi4")
BLOCKS = {"BFP2": 2, "BFP4": 4, "BFP8": 8}
"""Bits of a datum, by block float."""


def in_and_out(fmt: str, *, dst32: bool = False) -> dict:
    """Return the formats of every stage of a case that reads and writes one format."""
    held = "FP16" if fmt == "FP16" else "BF16"
    stages = {"in_a": fmt, "register_format": held, "mid_format": held, "out_format": fmt}
    return stages | ({"dst32": True, "mid_format": "FP32", "out_format": "FP32"} if dst32 else {})


def two(fmt: str, *, dst32: bool = False) -> dict:
    """Return the same with a second operand."""
    return in_and_out(fmt, dst32=dst32) | {"in_b": fmt}


CASES = {}
for op in ("matmul", "elwmul"):
    # A datum of BFP2 or BFP4 has no bits for the later phases.
    CASES |= {f"{op} {fmt} LoFi": Case(op=op, **two(fmt)) for fmt in ("BFP2", "BFP4")}
    for fmt, fidelity in product(("BFP8", "BF16", "FP16"), FIDELITIES):
        CASES[f"{op} {fmt} {fidelity}"] = Case(op=op, fidelity=fidelity, **two(fmt))
for fmt, kind in product(("BFP2", "BF16"), ("NONE", "ROW", "COL", "SCALAR")):
    CASES[f"elwadd {fmt} {kind}"] = Case(op="elwadd", broadcast=kind, **two(fmt))
for fmt in ("BFP4", "FP16"):
    CASES[f"elwsub {fmt}"] = Case(op="elwsub", **two(fmt))
for pool, dim in product(("AVG", "MAX"), ("COL", "ROW", "SCALAR")):
    fmt = "BFP4" if dim == "COL" else "BF16"
    CASES[f"reduce {fmt} {pool} {dim}"] = Case(op="reduce", pool=pool, reduce_dim=dim, **two(fmt))
for op, fmts in (
    ("datacopy", FORMATS),
    ("transpose", ("BFP2", "BF16")),
    ("tilize", ("FP16",)),
    ("untilize", ("FP16",)),
):
    CASES |= {f"{op} {fmt}": Case(op=op, **in_and_out(fmt)) for fmt in fmts}
CASES["pack_untilize BF16"] = Case(op="pack_untilize", **in_and_out("BF16"))
# Only a Dst of 32 bits shows the last phase, whose products weigh 2**-12 of the first one's.
IN_FP32 = {
    f"{op} BF16 {fidelity} FP32": Case(op=op, fidelity=fidelity, **two("BF16", dst32=True))
    for op, fidelity in product(("matmul", "elwmul"), FIDELITIES)
}
CASES |= IN_FP32


def tile(fmt: str, seed: str) -> np.ndarray:
    """Return a tile in L1 that uses every fraction bit: 64 exponents and the datums of block floats, or numbers."""
    rng = np.random.default_rng(crc32(seed.encode()))
    if fmt in BLOCKS:
        return np.concatenate([rng.integers(120, 132, 64), rng.integers(0, 256, 128 * BLOCKS[fmt])]).astype(np.uint8)
    fraction_bits, bias = (10, 15) if fmt == "FP16" else (7, 127)
    exponents, fractions = rng.integers(bias - 4, bias + 3, 1024), rng.integers(0, 1 << fraction_bits, 1024)
    codes = rng.integers(0, 2, 1024) << 15 | exponents << fraction_bits | fractions
    return codes.astype("<u2").view(np.uint8)


def operands(name: str, case: Case) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the operands, the same for all fidelities of a case."""
    words = name.split()
    left = tile(words[1], f"left {words[:2]}")
    return left, None if case.in_b is None else tile(words[1], f"right {words[:2]}")


@pytest.mark.parametrize("name", CASES)
def test_kernel(name: str) -> None:
    """Every bit of the result."""
    case = CASES[name]
    l1_a, l1_b = operands(name, case)
    report = compare(case, l1_a, l1_b, run(case, l1_a, l1_b))
    why = f"{report.stage}: {'; '.join(report.causes)}"
    assert report.equal, f"{report.first_difference}, {report.ulp} units in the last place at most, {why}"


@pytest.mark.parametrize("op", ["matmul", "elwmul"])
def test_every_phase_counts(op: str) -> None:
    """The operands tell all four fidelities apart: a device that ignores the phase fails in three of them."""
    results = {
        expected(case, *operands(name, case)).l1.tobytes() for name, case in IN_FP32.items() if name.startswith(op)
    }
    assert len(results) == len(FIDELITIES)
