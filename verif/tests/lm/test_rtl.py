"""Blocks of a small model on the engines: the same bits as golden's forward, kept blocks, and reports of a difference."""

import json
import pickle
import shlex
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from rich.console import Console

from bitpath.golden import trainium3
from bitpath.golden.arrays.codec import DTYPES
from bitpath.golden.matmul import matmul
from bitpath.golden.tensix.declarations.formats import Chip
from bitpath.golden.trainium3.declarations import dtypes
from bitpath.sim.commands import run_lm
from bitpath.sim.engine import paths
from bitpath.sim.engine.cluster import Cluster, Finished
from bitpath.sim.engine.options import SimulationError
from bitpath.sim.flows import (
    aie_ml_v2_matmul,
    aie_ml_v2_tile,
    builds,
    lm,
    lm_matmuls,
    lm_programs,
    lm_w8a8,
    staged,
    tensix_matmul,
    tensix_program,
    tensix_steps,
    trainium3_matmul,
    trainium3_w8a8,
)
from bitpath.sim.flows.history import kept_runs
from bitpath.sim.flows.outcome import mismatch_report
from bitpath.sim.lm.model import KINDS, Backend, forward, logits
from bitpath.verif.tests.conftest import ROOT
from bitpath.verif.tests.lm.tiny import tiny
from bitpath.verif.trainium3.core.core_modes import passes_of

SMALL = {"hidden": 32, "inner": 64, "heads": 2, "kv_heads": 1}
IDS = [5, 17, 5]
ENGINES = {
    # The engine that verif/trainium3/engine/test_tensor_engine.py builds.
    "trainium3": trainium3_matmul.engine_for("verilator", rows=4, cols=4),
    "tensix": tensix_matmul.engine_for("icarus"),
    "aie_ml_v2": aie_ml_v2_matmul.engine_for("icarus"),
}
FORMATS = {"trainium3": "mxfp8_e4m3", "tensix": "bf16_lofi", "aie_ml_v2": "mx9"}


def setting(machine, **given):
    rule = {"scale_rule": "ocp"} if machine == "trainium3" else {}
    own = {"machine": machine, "format_name": FORMATS[machine], "engine": ENGINES[machine]}
    return lm_matmuls.Setting(**own | rule | given)


def captured(machine, model, blocks=(0, 1), **given):
    found = lm_matmuls.Captured(setting(machine, **given), blocks)
    forward(model, IDS, found)
    return found.matmuls


class InFormat(Backend):
    """Every product by golden's matmul."""

    def __init__(self, **arguments):
        self.arguments = arguments

    def product(self, kind, block, a, b):
        return matmul(a, b, **self.arguments)


@pytest.fixture
def model():
    return tiny(**SMALL)


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A build folder of its own, with the checkout's simulator builds; pieces run in this process."""
    monkeypatch.setenv(paths.VARIABLE, str(tmp_path / "build"))
    monkeypatch.setattr(paths, "simulations", lambda: ROOT / "build" / "sim")
    monkeypatch.setattr(lm, "finished", in_turn)


def in_turn(pieces, cluster, told):
    """Run pieces as a worker does: from copies of their arguments."""
    for each in pieces:
        call, arguments = pickle.loads(pickle.dumps((each.call, each.arguments)))
        told(each.name)
        yield Finished(each, call(*arguments), None)


# On the engines.


def on_the_engine(machine, model, **given):
    blocks = list(lm.play_blocks(model, IDS, setting(machine, **given), range(2)))
    assert [each.block for each in blocks] == [0, 1]
    rows = [row for each in blocks for row in each.rows]
    assert [(row["block"], row["matmul"]) for row in rows] == [
        (block, kind) for block in range(2) for kind in ("q", "k", "v", "scores", "values", "o", "gate", "up", "down")
    ]
    assert not any(row["mismatches"] or row["report"] for row in rows)
    assert [row["outputs_compared"] for row in rows[:9]] == [96, 48, 48, 18, 96, 96, 192, 192, 96]
    assert all(row["cycles"] > 0 and row["wall_seconds"] >= 0 for row in rows)
    plain = forward(model, IDS, InFormat(format=FORMATS[machine]))[-1]
    assert [each.next_token for each in blocks] == [None, plain.argmax()]
    return rows


@pytest.mark.simulator
@pytest.mark.usefixtures("here")
def test_two_blocks_on_trainium3(model):
    rows = on_the_engine("trainium3", model)
    # An even number of rows, blocks of K padded to 128, a scale for 32 elements; K and V are activations too.
    assert [row["quantized_compared"] for row in rows[:5]] == [528] * 3 + [792 + 396, 792 + 2112]
    assert not any(row["quantized_mismatches"] for row in rows)
    assert lm.Kept.of(setting("trainium3"), model, IDS).rows().keys() == {0, 1}


@pytest.mark.simulator
@pytest.mark.usefixtures("here")
def test_products_on_aie_ml_v2(model):
    """One engine process plays several matmuls."""
    kinds = ("k", "scores")
    (block,) = lm.play_blocks(model, IDS, setting("aie_ml_v2", simulator="icarus"), [1], kinds=kinds)
    assert [(row["matmul"], row["outputs_compared"], row["mismatches"]) for row in block.rows] == [
        ("k", 48, 0),
        ("scores", 18, 0),
    ]
    assert len({row["kept"]["folder"] for row in block.rows}) == 1
    assert block.next_token is None


@pytest.mark.deep
@pytest.mark.simulator
@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("machine", ["tensix", "aie_ml_v2"])
def test_two_blocks_on(machine, model):
    on_the_engine(machine, model)


@pytest.mark.deep
@pytest.mark.simulator
@pytest.mark.usefixtures("here")
def test_a_block_in_w8a8(model):
    (setting_,) = lm_matmuls.settings(None, "w8a8", "verilator")
    (block,) = lm.play_blocks(model, IDS, setting_, [0])
    assert not any(row["mismatches"] for row in block.rows)
    units = [[each["unit"] for each in row["steps"]] for row in block.rows]
    assert units[0] == ["rmsnorm_quant", "core_array", "psum", "engine_lane", "activation2_lane", "copy_lanes"]
    assert units[3] == ["core_array", "psum"]


# Golden's forward keeps what the engines multiply.


@pytest.mark.parametrize("machine", FORMATS)
def test_the_kept_matmuls_are_those_of_the_format(machine):
    """Each group of heads is a product of its own; golden's results are matmul's."""
    model = tiny()
    found = captured(machine, model, (1,))
    assert found.keys() == {1}
    assert sorted(each.kind for each in found[1]) == sorted(KINDS)
    for each in found[1]:
        groups = 2 if each.kind in ("scores", "values") else 1
        assert len(each.a) == len(each.b) == len(each.golden) == groups
        for a, b, golden in zip(each.a, each.b, each.golden, strict=True):
            expected = matmul(a, b, format=FORMATS[machine])
            assert golden.view(np.uint32).tolist() == expected.view(np.uint32).tolist()


def test_attention_may_have_another_format_than_the_weights(model):
    """Its engine gets the same one: FP4 is a format of weights."""
    found = captured("trainium3", model, (0,), format_name="mxfp4")[0]
    formats = {each.kind: lm.Run(setting("trainium3"), each).products[0].formats["b_format"] for each in found}
    assert {kind for kind, name in formats.items() if name == "mxfp8_e4m3"} == {"scores", "values"}
    assert set(formats.values()) == {"mxfp4", "mxfp8_e4m3"}


def test_golden_has_the_numerics_of_the_engine(model):
    engine, run = ENGINES["trainium3"], trainium3_matmul.Run
    numerics = replace(run.numerics_of(engine), align_fraction_bits=5)
    _, *_, down = captured("trainium3", model, (0,), engine=run.with_numerics(engine, numerics))[0]
    results = [matmul(down.a[0], down.b[0], format="mxfp8_e4m3", numerics=each) for each in (numerics, None)]
    assert [down.golden[0].tobytes() == each.tobytes() for each in results] == [True, False]


@pytest.mark.parametrize("machine", FORMATS)
def test_golden_executes_the_engine_s_programs(machine, model):
    for each in captured(machine, model, (0,))[0]:
        run = lm.Run(setting(machine), each)
        found = [own.golden()[: own.a.shape[0], : own.b.shape[1]] for own in run.products]
        assert np.stack(found).tobytes() == each.golden.tobytes()


# W8A8, whose units give golden's results.


def psum_of(groups):
    """Return what PSUM's bench reads after it has written groups."""
    left = {}
    for number, group in enumerate(groups):
        total = None
        for flag, words in group:
            own = words.view(np.float32)
            total = own.copy() if flag & 1 else total + own
        left[f"group_{number}"] = total.view(np.uint32)
    return left


@pytest.fixture
def units(monkeypatch):
    """Return a player of golden's results; the result of a unit in ``wrong`` has a wrong bit."""
    wrong = set()

    def left(unit, content):
        if unit == "rmsnorm_quant":
            options = {"eps": content.options.eps, "quant_only": content.options.quant_only}
            found = {"output": trainium3.rmsnorm_quant(content.hidden, content.gamma, **options)}
        elif unit == "core_array":
            found = {f"results_{n}": passes_of(each, 32).astype(np.uint32) for n, each in enumerate(content)}
        elif unit == "psum":
            found = psum_of(content)
        else:
            found = {"of": content}
        if unit in wrong:
            next(iter(found.values())).reshape(-1).view(np.uint8)[0] ^= 1
        return found | {"cycles": 10, "seconds": 0.1}

    def operate(play, x, operator, y, result):
        return play("engine_lane", trainium3.tensor_tensor(x, y, operator, dtype=DTYPES[dtypes.FORMATS[result]]))["of"]

    def activate(play, data, *, scale):
        return play("activation2_lane", trainium3.activation(data, "copy", scale=scale))["of"], None

    def copy(play, data, dtype, *, engine):
        return play("copy_lanes", data.astype(dtype))["of"]

    monkeypatch.setattr(trainium3_w8a8.stages, "copy", copy)
    monkeypatch.setattr(trainium3_w8a8.stages, "operate", operate)
    monkeypatch.setattr(trainium3_w8a8.stages, "activate", activate)
    return wrong, lambda unit, contents: [left(unit, content) for content in contents]


def w8a8_products(model):
    (own,) = lm_matmuls.settings(None, "w8a8", "verilator")
    captured = lm_matmuls.Captured(own, [0])
    forward(model, IDS, captured)
    return [lm_w8a8.W8A8Run(own, each) for each in captured.matmuls[0]]


def test_the_steps_of_w8a8_give_golden_s_layers(model, units):
    runs = w8a8_products(model)
    products = [each for run in runs for each in run.products]
    trainium3_w8a8.multiply(products, units[1])
    for run in runs:
        matmul = run.matmul
        assert np.stack([each.result for each in run.products]).tobytes() == matmul.golden.tobytes(), matmul.kind
        assert [each.mismatches for own in run.products for each in own.stages] == [0] * (
            2 if matmul.kind in ("scores", "values") else 6
        )
    q, down = (next(run.matmul for run in runs if run.matmul.kind == kind) for kind in ("q", "down"))
    block = model.blocks[0]
    assert q.gamma is block.attention_norm
    expected = trainium3.linear_w8a8(
        q.a[0], np.ascontiguousarray(block.q), gamma=block.attention_norm, eps=model.epsilon
    )
    assert q.golden[0].tobytes() == expected.astype(np.float32).tobytes()
    assert down.gamma is None
    assert down.golden[0].tobytes() == trainium3.linear_w8a8(down.a[0], down.b[0]).astype(np.float32).tobytes()


@pytest.mark.parametrize(
    "unit", ["rmsnorm_quant", "core_array", "psum", "engine_lane", "activation2_lane", "copy_lanes"]
)
def test_a_wrong_bit_of_a_unit_is_that_step_s(model, units, unit):
    wrong, play = units
    wrong.add(unit)
    (q,) = (run for run in w8a8_products(model) if run.matmul.kind == "q")
    trainium3_w8a8.multiply(q.products, play)
    built = SimpleNamespace(digest="0" * 8, seconds=0.0)
    found = q.outcome(built, 1.5)
    (steps,) = ([each.unit for each in own.stages if each.mismatches] for own in q.products)
    assert steps[0] == unit
    assert found.record["mismatches"] >= 1
    report = mismatch_report(q, found)
    assert f"of {unit}'s results for q of block 0" in report
    assert "bitpath run lm --machine trainium3 --format w8a8 --sim verilator --blocks 0:1 --kind q --waves" in report


def test_attention_alone_needs_no_quantisation(model, units):
    (scores,) = (run for run in w8a8_products(model) if run.matmul.kind == "scores")
    trainium3_w8a8.multiply(scores.products, units[1])
    assert [each.unit for each in scores.products[0].stages] == ["core_array", "psum"]


# Programs, whose cores give golden's results.


def program_of(machine, model, ids):
    (run,) = lm_programs.program_runs(model, ids, [setting(machine)])
    return run


def on_core(unit, program):
    """Return what the RTL core's bench leaves, from golden's core of a chip."""
    output, words = tensix_program.golden_run(Chip(unit), program)
    flat, counts = np.concatenate(words), np.array([each.size for each in words])
    return {"output": output, "words": flat, "word_cycles": np.arange(flat.size), "counts": counts, "cycles": 9}


def test_all_of_k_is_a_program_for_each_tile():
    """Golden's core leaves the bits of golden's matmul, with two tiles along K and two of the result."""
    model = tiny(hidden=64, heads=4, kv_heads=4)
    run = program_of("tensix", model, range(32))
    rtl, golden, figures = run.compute(on_core)
    assert (run.k_tiles, run.places) == (2, [(0, 0), (0, 1)])
    assert golden.shape == (64, 64)
    assert rtl.tobytes() == golden.tobytes()
    assert (figures["matmul"], figures["cycles"]) == ("k", 36)
    assert [row["mvmuls"] for row in figures["chips"]] == [2 * 2 * 16] * 2
    assert [(each.name, each.mismatches) for each in run.stages] == [
        ("wormhole", 0), ("wormhole", 0), ("blackhole", 0), ("blackhole", 0)
    ]  # fmt: skip


@pytest.mark.parametrize(("name", "size"), [("M", 31), ("K", 48), ("N", 40)])
def test_sides_of_a_program_are_whole_tiles(name, size):
    m, k, n = ({"M": 32, "K": 64, "N": 32} | {name: size}).values()
    operands = np.ones((m, k), np.float32), np.ones((k, n), np.float32)
    with pytest.raises(ValueError, match=f"{name} must be a multiple of 32, not {size}"):
        tensix_program.Run(*operands, "bf16_lofi", tensix_program.engine_for("icarus"), "icarus")


def test_k_of_a_program_is_what_l1_holds():
    operands = np.ones((32, 2048), np.float32), np.ones((2048, 32), np.float32)
    with pytest.raises(ValueError, match="K must be at most 1024 in BF16, not 2048"):
        tensix_program.Run(*operands, "bf16_lofi", tensix_program.engine_for("icarus"), "icarus")


def test_the_second_half_of_a_block_begins_with_the_residual_stream():
    """Golden's core leaves the bits of the batched operations; a 33rd token has no row."""
    model = tiny(hidden=32, inner=64, heads=2, kv_heads=2)
    given = setting("tensix", format_name="bf16_hifi4")
    block = lm_matmuls.Captured(given, (0,))
    forward(model, range(33), block)
    run = lm_programs.TensixHalfRun(given, model, block)
    assert run.x.tobytes() == block.norms[0, "ffn"]["a"][:32].tobytes()
    rtl, golden, figures = run.compute(on_core)
    assert golden.shape == (64, 32)
    assert rtl.tobytes() == golden.tobytes()
    assert (figures["block"], figures["matmul"], figures["cycles"]) == (0, "ffn", 22 * 9)
    for row, own in zip(figures["chips"], (run.stages[:11], run.stages[11:]), strict=True):
        assert row["programs"] == 11
        assert row["words"] + row["bytes"] == sum(each.compared for each in own)
        assert sum(each.mismatches for each in own) == 0
    assert run.replay == "bitpath run lm --program --machine tensix --format bf16_hifi4 --waves"


def test_the_second_half_is_bf16_in_hifi4():
    model = tiny(hidden=32, inner=64, heads=2, kv_heads=2)
    settings = [setting("tensix", format_name=name) for name in ("bf16_hifi4", "bf16_lofi", "bfp8_hifi2")]
    runs = list(lm_programs.program_runs(model, range(32), settings))
    assert [(each.format_name, each.named) for each in runs] == [
        ("bf16_hifi4", "k"), ("bf16_hifi4", "ffn"), ("bf16_lofi", "k")
    ]  # fmt: skip
    (part,) = {each.part("wormhole") for each in runs}
    assert part[1].l1_words == 8192


def test_l1_holds_the_depth_of_the_default_model():
    engine = tensix_program.engine_for("verilator", l1_words=lm_programs.L1_WORDS)
    x, model = np.zeros((32, 32), np.float32), tiny(hidden=32, inner=1536)
    run = tensix_steps.Run(x, model.blocks[0], model.epsilon, engine, "verilator")
    for chip in Chip:
        programs = run._programs(chip, tensix_steps.golden_device(chip))
        assert [programs.columns(depth, 48) for depth in (576, 1536)] == [8, 2]
    deeper = tiny(hidden=32, inner=4096).blocks[0]
    with pytest.raises(ValueError, match="K must fit in an L1 of 524288 bytes with a column of tiles, not be 4096"):
        tensix_steps.Run(x, deeper, model.epsilon, engine, "verilator")


def test_attention_is_a_layer_for_each_group_of_heads():
    run = program_of("aie_ml_v2", tiny(), range(16))
    layers = iter(range(4))

    def play(unit, content):
        layer = run.arithmetic.layer(next(layers), None)
        memory, registers, (cycles, banks, products) = aie_ml_v2_tile.golden_run(run.engine.aie_tile, layer)
        values = [int.from_bytes(each.tobytes(), "little") for each in registers.reshape(-1, 8)]
        left = {"memory": memory, "registers": np.array(values, object), "cycles": cycles, "products": products}
        return left | {"banks_stalls": banks, "bundles_stalls": 0}

    rtl, golden, figures = run.compute(play)
    assert rtl.tobytes() == golden.tobytes()
    assert golden.shape == (32, 16)
    assert figures["macs"] == 4 * 32 * 16 * 16
    names = ["scores, group 0", "scores, group 1", "values, group 0", "values, group 1"]
    assert [row["layer"] for row in figures["layers"]] == names
    assert [each.mismatches for each in run.stages] == [0] * 4
    assert run.replay == "bitpath run lm --program --machine aie_ml_v2 --format mx9 --waves"


def test_formats_without_a_program_are_left_out():
    having = list(lm_programs.program_runs(tiny(), range(16), lm_matmuls.settings("aie_ml_v2", None, "verilator")))
    assert [each.format_name for each in having] == ["mx9"]


# Blocks that nobody simulates: what is kept, and what a difference says.


@pytest.fixture
def played(here, monkeypatch):
    """Let the engines give golden's results; return the played blocks. Those in ``wrong`` get a wrong bit in ``up``."""
    blocks = []

    def play_all(console, built, bench, title, contents):
        left = []
        for _ in contents:
            matmul, group = played.waiting.pop(0)
            golden = matmul.golden[group].copy()
            if matmul.block in played.wrong and matmul.kind == "up":
                golden.view(np.uint32)[1, 2] ^= 1
            times = np.full(golden.shape, 635_000, np.uint64)
            left.append({"golden": golden, "times": times, "cycles": 7, "seconds": 0.5, "folder": None})
        return left

    honest = lm.play_block

    def play_block(setting, matmuls, console=None):
        if matmuls[0].block in played.failing:
            raise SimulationError("no result came")
        blocks.append(matmuls[0].block)
        played.waiting = [(each, group) for each in matmuls for group in range(len(each.a))]
        return honest(setting, matmuls, console)

    def results(self, left):
        return left["golden"], left["times"]

    played = SimpleNamespace(blocks=blocks, wrong=(), failing=(), waiting=[])
    monkeypatch.setattr(lm, "play_all", play_all)
    monkeypatch.setattr(lm, "play_block", play_block)
    # The patched function is no global name that a copy finds.
    monkeypatch.setattr(
        lm,
        "finished",
        lambda pieces, cluster, told: (Finished(each, play_block(*each.arguments), None) for each in pieces),
    )
    monkeypatch.setattr(lm, "build", lambda *_, **__: SimpleNamespace(digest="0" * 8, seconds=0.0, top="engine"))
    monkeypatch.setattr(aie_ml_v2_matmul.Run, "results", results)
    return played


AIE = setting("aie_ml_v2")


def run_all(model, wanted=range(2), given=AIE, ids=IDS, **options):
    return list(lm.play_blocks(model, ids, given, wanted, **options))


def test_finished_blocks_are_not_played_again(played, model):
    first = run_all(model)
    assert [(each.done, each.total, each.before) for each in first] == [(1, 2, False), (2, 2, False)]
    assert first[0].seconds_left > 0
    again = run_all(model)
    assert played.blocks == [0, 1]
    assert [(each.block, each.before, each.seconds_left) for each in again] == [(0, True, None), (1, True, None)]
    assert [each.rows for each in again] == [each.rows for each in first]
    assert again[-1].next_token == first[-1].next_token is not None


def test_an_interrupted_run_resumes_at_the_block_that_failed(played):
    model = tiny(**SMALL, blocks=4)
    played.failing = (2,)
    with pytest.raises(SimulationError, match="no result came"):
        run_all(model, range(4))
    played.failing = ()
    again = run_all(model, range(4))
    assert played.blocks == [0, 1, 2, 3]
    assert [(each.block, each.before) for each in again] == [(0, True), (1, True), (2, False), (3, False)]
    assert again[2].seconds_left > 0 == again[3].seconds_left


@pytest.mark.parametrize(
    "change",
    [
        {"ids": [*IDS, 1]},
        {"given": setting("aie_ml_v2", format_name="mx6")},
        {"given": setting("aie_ml_v2", engine=aie_ml_v2_matmul.engine_for("icarus", lanes=8))},
        {"kinds": ("q", "up")},
        {"given": setting("aie_ml_v2", waves=True)},
        {"model": tiny(1, **SMALL)},
        {"model": tiny(**SMALL, biases=("q",))},
    ],
    ids=["text", "format", "engine", "kinds", "waves", "weights", "biases"],
)
def test_kept_blocks_belong_to_their_run(played, model, change):
    run_all(model, [0])
    given = {"model": model, "wanted": [0]} | change
    run_all(**given)
    assert played.blocks == [0, 0]


def test_other_sources_keep_blocks_of_their_own(played, model, monkeypatch):
    run_all(model, [1])
    monkeypatch.setattr(lm, "sources", lambda: "others")
    run_all(model, [1])
    assert played.blocks == [1, 1]


def test_a_wrong_bit_is_reported_with_its_operands(played, model):
    played.wrong = (1,)
    blocks = run_all(model)
    assert [sum(row["mismatches"] for row in each.rows) for each in blocks] == [0, 1]
    assert blocks[-1].next_token is None
    (report,) = [row["report"] for each in blocks for row in each.rows if row["report"]]
    assert report.startswith("first mismatch: aie_ml_v2 mx9 on verilator, [1, 2], read at 635 ns, cycle 63\n")
    assert "up of block 1" in report
    lines = dict(line.split(maxsplit=1) for line in report.splitlines()[1:] if line.split()[0] in ("explain", "replay"))
    assert lines["replay"] == (
        "bitpath run lm --machine aie_ml_v2 --format mx9 --sim verilator --blocks 1:2 --kind up --waves"
    )
    words = shlex.split(lines["explain"])
    up = next(each for each in captured("aie_ml_v2", model)[1] if each.kind == "up")
    for side, expected in (("--a", up.a[0]), ("--b", up.b[0])):
        assert np.load(words[words.index(side) + 1]).tobytes() == expected.tobytes()
    # It is played again, until it agrees.
    played.wrong = ()
    assert run_all(model)[-1].next_token is not None
    assert played.blocks == [0, 1, 1]


def test_the_next_token_follows_from_the_last_block(played, model):
    states = []

    class Last(InFormat):
        def product(self, kind, block, a, b):
            states.append(super().product(kind, block, a, b))
            return states[-1]

    whole = forward(model, IDS, Last(format="mx9"))
    assert run_all(model)[-1].next_token == whole[-1].argmax()
    assert [each.next_token for each in run_all(model, [1])] == [None]
    assert [each.next_token for each in run_all(model, kinds=("q", "up"))] == [None, None]
    assert logits(model, states[-1]).shape == whole.shape


# The options.


@pytest.mark.parametrize(
    ("text", "found"),
    [("1", range(1)), ("30", range(30)), ("all", range(30)), ("3:5", range(3, 5)), ("0:30", range(30))],
)
def test_the_blocks_of_an_option(text, found):
    assert lm.chosen_blocks(text, 30) == found


@pytest.mark.parametrize("text", ["", "0", "31", "-1", "5:3", "3:3", ":3", "3:", "a", "0:31", "1:2:3", "All"])
def test_wrong_blocks(text):
    with pytest.raises(ValueError, match="--blocks must be all, a number from 1 to 30, or FIRST:END as 0:30, not"):
        lm.chosen_blocks(text, 30)


def test_the_formats_of_the_machines():
    names = [(each.machine, each.format_name) for each in lm_matmuls.settings(None, None, "verilator")]
    assert names == [(name, each) for name, flow in lm_matmuls.FLOWS.items() for each in flow.FORMATS]
    (only,) = lm_matmuls.settings(None, "bf16_hifi2", "verilator", waves=True)
    assert (only.machine, only.scale_rule, only.waves) == ("tensix", None, True)
    assert [each.scale_rule for each in lm_matmuls.settings("trainium3", None, "verilator", "nki05")] == ["nki05"] * 3


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((None, "mx9", "icarus"), "the flow lm runs the machines' engines, on verilator alone, not on icarus"),
        ((None, "int8_lofi", "verilator"), "format of lm must be one of floats, not 'int8_lofi'"),
        (("tensix", "mx9", "verilator"), "tensix.* not 'mx9'"),
        ((None, "bfp16ebs8", "verilator"), "which only golden multiplies"),
        (("tensix", "w8a8", "verilator"), "format w8a8 is trainium3's, without a scale rule"),
        ((None, "w8a8", "verilator", "nki05"), "format w8a8 is trainium3's, without a scale rule"),
        (("tensix", None, "verilator", "nki05"), "--scale-rule goes with trainium3's MX formats; tensix has no"),
    ],
)
def test_wrong_settings(given, message):
    with pytest.raises(ValueError, match=message):
        lm_matmuls.settings(*given)


@pytest.fixture
def command(bitpath, played, model, monkeypatch):
    """Run the command on the small model."""
    monkeypatch.delenv(paths.VARIABLE)
    tokens = SimpleNamespace(
        encode=lambda text: list(range(1, 60)), prompt=lambda text: [7, 8, 9], decode=lambda ids: f"<{ids[0]}>"
    )
    monkeypatch.setattr(run_lm, "open_checkpoint", lambda path: path)
    monkeypatch.setattr(run_lm, "read_model", lambda checkpoint: model)
    monkeypatch.setattr(run_lm, "read_tokens", lambda checkpoint: tokens)
    return lambda line: bitpath("run", "lm", *line.split())


def test_a_row_for_each_matmul_of_a_block(command, played):
    status, out, _ = command("--format mx9 --tokens 5")
    assert status == 0
    records = json.loads((paths.reports() / "run.json").read_text())
    assert [each["matmul"] for each in records] == ["q", "k", "v", "scores", "values", "o", "gate", "up", "down"]
    assert [each["config"]["shape"][1] for each in records] == [5, 5, 5, 10, 10, 5, 5, 5, 5]
    assert out.count("mx9") == 9
    (kept,) = kept_runs([])
    assert (kept.formats, kept.mismatches, len(kept.records)) == (9, 0, 9)


def test_a_row_for_each_of_several_blocks_and_the_next_token(command, played):
    status, out, _ = command("--format mx9 --blocks all --prompt x")
    assert status == 0
    assert out.count("\naie_ml_v2 mx9") == 2
    assert "mx9: next token from RTL '<" in out
    assert "mx9, all blocks" in out
    assert len(json.loads((paths.reports() / "run.json").read_text())) == 18


def test_a_wrong_bit_fails_the_command(command, played):
    played.wrong = (0,)
    status, out, _ = command("--format mx9 --quiet")
    assert status == 1
    assert out.startswith("first mismatch: aie_ml_v2 mx9")


@pytest.mark.parametrize("wrong", [False, True])
def test_a_row_for_each_part_of_a_block_with_a_program(command, monkeypatch, wrong):
    """k, and the second half of the block, whose third program on Blackhole may leave a wrong bit."""
    played = []

    def play(console, built, bench, title, program):
        left = on_core(built.chip, program)
        played.append(built.chip)
        left["output"][5] ^= wrong and len(played) == 2 + 11 + 3
        return left

    def build(unit, config, simulator, *, waves):
        return SimpleNamespace(digest=config.chip.value, seconds=0.0, chip=config.chip)

    monkeypatch.setattr(run_lm, "read_model", lambda _: tiny(hidden=32, inner=32, heads=2, kv_heads=2))
    monkeypatch.setattr(builds, "build", build)
    monkeypatch.setattr(staged, "play", play)
    status, out, _ = command("--program --format bf16_hifi4")
    k, half = json.loads((paths.reports() / "run.json").read_text())
    assert (k["matmul"], half["matmul"]) == ("k", "ffn")
    assert [(row["chip"], row["programs"]) for row in half["chips"]] == [("wormhole", 11), ("blackhole", 11)]
    assert half["staged_compared"] == sum(row["words"] + row["bytes"] for row in half["chips"])
    assert half["outputs_compared"] == 2 * 32 * 32
    assert " ffn " in out
    assert status == int(wrong)
    if wrong:
        counts = {row["instruction"]: (row["count"], row["mismatches"]) for row in half["stages"]}
        assert (counts["blackhole norm"], counts["blackhole gate"]) == ((5, 1), (1, 0))
        assert "first mismatch: tensix bf16_hifi4 on verilator, in stages" in out
        assert "blackhole norm 2, byte 0 of element 5" in out
    else:
        assert half["mismatches"] == k["mismatches"] == 0


def test_more_tokens_than_the_text_has(command):
    status, _, err = command("--tokens 60 --format mx9")
    assert (status, err) == (2, "bitpath: --tokens must be at most 59, as many as the text has, not 60\n")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--prompt x --tokens 3", "--prompt goes without --text and --tokens"),
        ("--linear w8a8 --format mx9", "--linear goes without --format"),
        ("--linear w8a8 --machine tensix", "format w8a8 is trainium3's, without a scale rule"),
        ("--program --format mx6", "format of lm --program must be mxfp8_e4m3, mxfp8_e5m2, bf16_lofi"),
        ("--program --format mxfp8_e4m3", "the core's program needs a q of at least [256, 32], not [32, 32]"),
    ],
)
def test_options_that_do_not_go_together(command, line, message):
    status, _, err = command(line)
    assert status == 2
    assert err.startswith(f"bitpath: {message}")


@pytest.mark.parametrize(
    ("seconds", "text"), [(5, "1 min"), (89, "1 min"), (150, "2 min"), (3600, "1 h 00 min"), (8000, "2 h 13 min")]
)
def test_the_time_left_as_text(seconds, text):
    assert run_lm._duration(seconds) == text


def test_a_scheduler_takes_a_single_block_too(played, model):
    (block,) = run_all(model, [0], cluster=Cluster("tcp://there:1"), console=Console(quiet=True))
    assert (block.block, played.blocks) == (0, [0])
