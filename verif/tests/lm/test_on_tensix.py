"""Blocks on Tensix: each operation near its number, and programs of the core with the bits of the backend."""

from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest

from bitpath.golden.tensix.declarations.formats import Chip
from bitpath.golden.tensix.llk.case import Op
from bitpath.sim.flows import tensix_program, tensix_steps
from bitpath.sim.flows.tensix_steps import OnCore, Programs, golden_device
from bitpath.sim.lm import kernels
from bitpath.sim.lm.arithmetic import Options
from bitpath.sim.lm.model import FLOAT32, OPERATIONS, feed_forward, forward, rms_norm
from bitpath.sim.lm.on_tensix import OnTensix
from bitpath.sim.lm.plans import parse
from bitpath.verif.tests.lm.tiny import tiny

OF_CHIP = pytest.mark.parametrize("chip", list(Chip), ids=lambda chip: chip.value)
IDS = [5, 17, 5, 99, 0, 64, 127, 3, 3, 42]
NEAR = 2.0**-6
"""Four units in the last place of BF16 at 1."""


def bf16(*shape, seed=1):
    return np.random.default_rng(seed).normal(size=shape).astype(ml_dtypes.bfloat16).astype(np.float32)


def backend(*vector, chip=Chip.WORMHOLE, plan="float32"):
    return OnTensix(replace(parse(plan), vector=vector), options=Options(others={"chip": chip.value}))


@OF_CHIP
def test_operations_are_near_those_of_float32(chip):
    own = backend(*OPERATIONS, chip=chip)
    x, y = bf16(40, 64), bf16(40, 64, seed=2)
    gamma = bf16(64, seed=3)
    unseen = np.triu(np.ones((40, 40), bool), 1)
    angles = np.arange(40)[:, np.newaxis] * np.float64([1, 0.5, 0.25, 0.125])
    turn = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
    heads, scores = bf16(3, 40, 8), 4 * bf16(3, 40, 40)
    for found, wanted in (
        (own.norm(0, "ffn", x, gamma, 1e-5), rms_norm(x, gamma, 1e-5)),
        (own.gated(x, y), FLOAT32.gated(x, y)),
        (own.rotate(heads, turn), FLOAT32.rotate(heads, turn)),
        (own.softmax(scores, 0.25, unseen), FLOAT32.softmax(scores, 0.25, unseen)),
        (own.add(x, y[:1]), x + y[:1]),
    ):
        assert found.dtype == np.float32
        np.testing.assert_array_equal(found, found.astype(ml_dtypes.bfloat16).astype(np.float32))
        np.testing.assert_allclose(found, wanted, rtol=NEAR, atol=NEAR)
    assert not own.softmax(scores, 0.25, unseen)[:, unseen].any()


@pytest.mark.parametrize("shape", [(3, 7, 5), (1, 40, 33), (2, 1, 64)], ids=str)
def test_the_maximum_of_a_row_is_exact(shape):
    x = bf16(*shape)
    for sign in (1, -1):
        found = kernels.Golden().maximum(np.abs(x) * sign)
        np.testing.assert_array_equal(found, (np.abs(x) * sign).max(axis=-1, keepdims=True))


def test_an_operation_that_is_not_named_is_float32s():
    model = tiny(biases=("q",))
    plain = forward(model, IDS)
    np.testing.assert_array_equal(forward(model, IDS, backend()), plain)
    for each in OPERATIONS:
        assert not np.array_equal(forward(model, IDS, backend(each)), plain)


def test_products_are_packed():
    found = backend("norm", plan="bf16_hifi4,scores=float32")
    a, b = bf16(4, 32), bf16(32, 16, seed=2)
    for kind, packed in (("q", True), ("scores", False)):
        left, right = (a, b) if kind == "q" else (a[np.newaxis], b[np.newaxis])
        result = found.product(kind, 0, left, right)
        assert np.array_equal(result, result.astype(ml_dtypes.bfloat16).astype(np.float32)) is packed


@OF_CHIP
def test_the_second_half_of_a_block_on_the_core_has_the_bits_of_the_backend(chip):
    model = tiny(biases=("gate", "down"))
    block, x = model.blocks[1], bf16(10, 64)
    programs = []

    def device(program):
        programs.append(program)
        return golden_device(chip)(program)

    core = OnCore(lambda _: Programs(chip=chip, device=device))
    found = feed_forward(core, 1, block, x, model.epsilon)
    wanted = feed_forward(backend(*OPERATIONS, chip=chip, plan="bf16_hifi4"), 1, block, x, model.epsilon)
    np.testing.assert_array_equal(found.view(np.uint32), wanted.view(np.uint32))
    assert len(programs) == 13


def test_a_product_is_cut_where_l1_ends():
    programs = []

    def device(program):
        programs.append(program)
        return golden_device(Chip.WORMHOLE)(program)

    a, b = bf16(3, 544), bf16(544, 64, seed=2)
    own = Programs(chip=Chip.WORMHOLE, device=device, l1_bytes=1 << 18)
    np.testing.assert_array_equal(own.product(a, b), kernels.Golden().product(a, b))
    assert len(programs) == 2


def test_the_flow_compares_programs_words_and_rows_of_both_chips():
    model, x = tiny(hidden=32, inner=32, heads=2, kv_heads=1), bf16(32, 32)
    run = tensix_steps.Run(x, model.blocks[0], model.epsilon, tensix_program.engine_for("icarus"), "icarus")

    def play(unit, program):
        output, words = tensix_program.golden_run(Chip(unit), program)
        counts = np.array([len(each) for each in words])
        return {"output": output, "words": np.concatenate(words), "counts": counts, "cycles": 7}

    rtl, golden, figures = run.compute(play)
    np.testing.assert_array_equal(rtl, golden)
    assert rtl.shape == (64, 32)
    assert [each["programs"] for each in figures["chips"]] == [11, 11]
    assert figures["cycles"] == 22 * 7
    assert sum(each.mismatches for each in run.stages) == 0
    operations = [*["norm"] * 5, "gate", "up", *["silu"] * 2, "down", "residual"]
    names = [f"{chip.value} {name} {number}" for chip in Chip for number, name in enumerate(operations)]
    assert [each.name for each in run.stages] == names
    assert run.title == "bf16_hifi4, blackhole residual 10"
    np.testing.assert_allclose(run.values(rtl), run.reference(), rtol=NEAR, atol=4 * NEAR)
    assert [run.part(each)[1].chip for each in run.units] == list(Chip)


def test_errors_of_programs():
    own = Programs(chip=Chip.WORMHOLE, device=golden_device(Chip.WORMHOLE), l1_bytes=1 << 18)
    with pytest.raises(ValueError, match="function must be None in a product's program, not 'reciprocal'"):
        own.product(bf16(4, 32), bf16(32, 16), "reciprocal")
    with pytest.raises(ValueError, match="K must fit in an L1 of 262144 bytes with a column of tiles, not be 2048"):
        own.product(bf16(4, 2048), bf16(2048, 16))
    with pytest.raises(ValueError, match=r"the maximum of rows must be golden's, .* not that of shape \(4, 32\)"):
        own.maximum(bf16(4, 32))
    many = np.zeros((1, 32 * 33), np.float32)
    assert own.elementwise(Op.ELWADD, many, many).shape == many.shape
