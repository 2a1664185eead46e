"""RTL plays the device: random kernels through the unpacker, the Matrix unit and the packer, and the oracle finds no difference."""

import json
import time
from collections import Counter
from dataclasses import replace
from functools import partial
from random import Random

import numpy as np
import pytest

from bitpath.golden.tensix.convert.formats import INTEGERS
from bitpath.golden.tensix.convert.pack import ACCUMULATING_FORMATS, FLOAT_OUTPUTS
from bitpath.golden.tensix.convert.unpack import CONVERSIONS
from bitpath.golden.tensix.declarations.formats import TILE, Chip, Fidelity, Format
from bitpath.golden.tensix.declarations.numerics import CHIP_PRESETS
from bitpath.golden.tensix.llk import Broadcast, Case, Op, Pool, compare
from bitpath.golden.tensix.llk.case import MID_FORMATS, TRANSPOSING, dst_format
from bitpath.golden.tensix.llk.expected import operand_bytes
from bitpath.rtl.tensix.matrix.instruction import MatrixUnitConfig
from bitpath.rtl.tensix.unpack.layouts import ConversionConfig
from bitpath.sim.engine.runner import build, run
from bitpath.verif.tensix.engine.model import random_tile
from bitpath.verif.tensix.llk import rtl_device
from bitpath.verif.tensix.llk.rtl_device import Kernel
from bitpath.verif.tensix.unpack.unpack import Conversion

# Random kernels that the RTL units run: one tile, or two of K.


SOURCES = tuple(fmt for fmt in Format if fmt is not Format.INT16)
TWO_TILES = (((32, 64), (64, 32)), ((32, 32), (32, 32)))


def random_kernels(count: int, seed: int, chip: Chip) -> list[Kernel]:
    """Return ``count`` kernels with all operations equally often, but without MOVA2D and moves of rows: the device has no mover."""
    rng, source = Random(seed), np.random.default_rng(seed)
    ops = list(Op)
    return [_kernel(ops[number % len(ops)], chip, rng, source) for number in range(count)]


def _kernel(op: Op, chip: Chip, rng: Random, source: np.random.Generator) -> Kernel:
    while True:
        try:
            case = _case(op, chip, rng)
        except ValueError:
            continue  # formats or options that do not follow each other
        break
    tiles = [
        _operand(fmt, case, source, sizes)
        for fmt, sizes in (
            (case.formats.in_a, case.dimensions_a),
            (case.formats.in_b, case.dimensions_b),
        )
    ]
    before = (
        source.integers(0, 256, operand_bytes(case.formats.out, (TILE, TILE)), np.uint8) if case.l1_accumulate else None
    )
    return Kernel(case, tiles[0], tiles[1], before)


def _case(op: Op, chip: Chip, rng: Random) -> Case:
    register = rng.choice(SOURCES)
    stored = [fmt for fmt, targets in CONVERSIONS.items() if register in targets]
    copies = op.value in ("datacopy", "transpose", "tilize", "untilize", "pack_untilize")
    dst32 = copies or rng.random() < 0.5
    mid = rng.choice(MID_FORMATS[dst_format(register, dst32=dst32)])
    out = mid if mid in INTEGERS else rng.choice(FLOAT_OUTPUTS)
    turned = op in TRANSPOSING and rng.random() < 0.5
    masked = op is not Op.REDUCE and rng.random() < 0.5
    a, b = rng.choice(TWO_TILES) if op is Op.MATMUL else TWO_TILES[1]
    return Case(
        op=op,
        in_a=rng.choice(stored),
        in_b=None if copies else rng.choice(stored),
        register_format=register,
        mid_format=mid,
        out_format=out,
        fidelity=rng.choice(list(Fidelity)),
        dst32=dst32,
        dimensions_a=a,
        dimensions_b=b,
        broadcast=rng.choice(list(Broadcast)),
        pool=rng.choice(list(Pool)),
        unpack_transpose_faces=turned and rng.random() < 0.5,
        unpack_transpose_within_face=turned,
        edge_mask=tuple(rng.getrandbits(16) for _ in range(2 * TILE)) if masked else None,
        edge_minus_infinity=masked and rng.random() < 0.5,
        l1_accumulate=out in ACCUMULATING_FORMATS and rng.random() < 0.5,
        e4m3=chip is Chip.BLACKHOLE and rng.random() < 0.5,
        chip=chip,
        relu=rng.randrange(4),
        relu_threshold=rng.choice((0x3C00, 0x3F80, 0x4000)),
    )


def _operand(fmt: Format | None, case: Case, source: np.random.Generator, sizes: tuple[int, int]) -> np.ndarray | None:
    if fmt is None:
        return None
    conversion = Conversion(fmt, case.formats.register, e4m3=case.e4m3 and fmt is Format.FP8)
    return np.concatenate([random_tile(source, conversion).image for _ in range(sizes[0] * sizes[1] // 1024)])


UNITS = {
    "unpacker": (ConversionConfig(), "unpacked"),
    "matrix_unit": (MatrixUnitConfig(rows=2, cols=4), "computed"),
    "packer": (ConversionConfig(), "packed"),
}
"""Configurations but for the numerics, and tests of the bench."""
SEED = 20261128


def answers(folder, chip, unit, requests):
    """Drive a unit on Verilator."""
    config, test = UNITS[unit]
    config = replace(config, numerics=CHIP_PRESETS[chip].numerics)
    asked, told = folder / f"{unit}.requests.json", folder / f"{unit}.answers.json"
    asked.write_text(json.dumps(requests))
    env = {"BITPATH_REQUESTS": str(asked), "BITPATH_ANSWERS": str(told)}
    bench = "bitpath.verif.tensix.llk.tb_rtl_device"
    run(build(unit, config, "verilator"), bench, seed=1, tests=rf"\.{test}$", min_tests=1, min_compared=0, env=env)
    return json.loads(told.read_text())


@pytest.mark.simulator
@pytest.mark.deep
@pytest.mark.parametrize("chip", Chip)
def test_random_kernels(tmp_path, chip):
    kernels = random_kernels(200, SEED, chip)
    start = time.monotonic()
    results = rtl_device.run(kernels, partial(answers, tmp_path, chip))
    seconds = time.monotonic() - start
    reports = [
        compare(each.case, each.l1_a, each.l1_b, l1, l1_before=each.before)
        for each, l1 in zip(kernels, results, strict=True)
    ]
    counts = Counter(each.case.op.value for each in kernels)
    print(f"{len(kernels)} kernels in {seconds:.0f} s: {dict(counts)}")
    different = [(each.case, report) for each, report in zip(kernels, reports, strict=True) if not report.equal]
    assert not different, different[0]
    assert min(counts.values()) == len(kernels) // len(counts)
