"""RTL plays the device: random kernels through the unpacker, the Matrix unit and the packer, and the oracle finds no difference."""

import json
import time
from collections import Counter
from dataclasses import replace
from functools import partial

import pytest

from bitpath.golden.tensix.declarations.chips import Chip
from bitpath.golden.tensix.declarations.numerics import CHIP_PRESETS
from bitpath.golden.tensix.llk import compare
from bitpath.rtl.tensix.matrix.instruction import MatrixUnitConfig
from bitpath.rtl.tensix.unpack.layouts import ConversionConfig
from bitpath.sim.engine.runner import build, run
from bitpath.verif.tensix.llk import rtl_device
from bitpath.verif.tensix.llk.random_kernels import random_kernels

pytestmark = pytest.mark.simulator
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
