"""Plans of formats, a model's matmuls by a plan, and what a small model loses."""

import json
import re

import ml_dtypes
import numpy as np
import pytest
from click.testing import CliRunner

from bitpath.golden import trainium3
from bitpath.golden.aie_ml_v2.declarations.numerics import AIE_ML_V2
from bitpath.golden.losses import log_softmax
from bitpath.golden.matmul import matmul
from bitpath.sim.commands import _click
from bitpath.sim.commands import lm as command
from bitpath.sim.lm import loss, plans, tokens
from bitpath.sim.lm.arithmetic import Arithmetic, Options
from bitpath.sim.lm.loss import Study, cheapest, measured, moved
from bitpath.sim.lm.model import KINDS, OPERATIONS, Backend, Cache, forward
from bitpath.sim.lm.plans import parse
from bitpath.verif.tests.lm.tiny import save, tiny

IDS = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3]


@pytest.fixture(scope="module")
def model():
    return tiny(7)


@pytest.fixture
def study(model, tmp_path, monkeypatch):
    monkeypatch.setenv("BITPATH_BUILD", str(tmp_path))
    return Study(model, None, "tiny", IDS, Options())


# Plans.


def test_the_closest_entry_of_a_plan_holds():
    plan = parse("mx6,attention=bf16,down=mx9,1=mx4,down.0=float32")
    found = {(kind, block): plan.format_of(kind, block) for kind in KINDS for block in (0, 1)}
    assert {found[kind, 0] for kind in ("q", "k", "v", "o", "gate", "up")} == {"mx6"}
    assert {found[kind, 1] for kind in ("q", "k", "v", "o", "gate", "up")} == {"mx4"}
    assert found["down", 0] == "float32"
    assert found["down", 1] == "mx9"
    assert {found[kind, block] for kind in ("scores", "values") for block in (0, 1)} == {"bf16"}
    assert plan.only(kinds=("down",), block=1).format_of("down", 1) == "mx9"
    assert {plan.only(kinds=("down",), block=1).format_of(kind, block) for kind, block in found} == {"float32", "mx9"}


def test_formats_of_weights_leave_attention_to_others():
    assert parse("mxfp4").format_of("scores", 0) == "mxfp8_e4m3"
    assert parse("mxfp4,scores=mxfp4").format_of("scores", 0) == "mxfp4"
    assert parse("w8a8").format_of("values", 3) == "trainium3:bf16"
    assert parse("sparse_4_16").format_of("scores", 0) == "trainium3:bf16"


def test_a_format_has_one_name():
    assert parse("trainium3:mxfp4") == parse("mxfp4")
    assert parse("trainium3:w8a8") == parse("w8a8")
    assert str(parse("trainium3:bf16")) == "trainium3:bf16"


def test_numerics_of_a_plan_are_those_of_its_units():
    named = {
        text: [each.name for each in plans.presets(parse(text))] for text in ("mxfp4", "w8a8", "mx9", "fp8_double_row")
    }
    assert named == {
        "mxfp4": ["trainium3_quad_mx"],
        "w8a8": ["trainium3_rmsnorm_quant", "trainium3_matmul"],
        "mx9": ["aie_ml_v2"],
        "fp8_double_row": ["trainium3_double_row"],
    }


def test_blocks_of_a_plan_must_exist(model):
    plans.check_blocks(parse("mx9,1=mx6,down.0=mx4"), model, "--format")
    with pytest.raises(ValueError, match=r"^--format: a block must be 0 to 1, not 2$"):
        plans.check_blocks(parse("mx9,down.2=mx6"), model, "--format")


def test_a_plans_file_holds_the_plan(tmp_path):
    plan = parse("mx9,down=mxfp8_e4m3@mxfp4")
    (tmp_path / "plan.json").write_text(plans.dump(plan))
    assert plans.read(tmp_path / "plan.json") == plan


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("mx10", "--format: format must be a machine's, such as "),
        ("x=mx9", "--format: a place must be *, linear, attention, q, "),
        ("down.x=mx9", "--format: a place must be *, linear, "),
        ("int8", "--format: format must be one of floats for a model, not 'int8'"),
        ("mx9@mx6", "--format: format of an operand must be 'mxfp8_e4m3', "),
        ("bf16@mxfp4", "--format: format of an operand must be 'mxfp8_e4m3', "),
        ("tensix:mxfp4@mxfp4", "--format: format must be of trainium3, not of 'tensix'"),
        ("aie_ml_v2:w8a8", "--format: format must be of trainium3, not of 'aie_ml_v2'"),
        ("attention=w8a8", "--format: w8a8 must be a format of linear layers, not of attention"),
        ("mx9,values.1=w8a8", "--format: w8a8 must be a format of linear layers, not of values.1"),
        ("007=mx9", "--format: a place must be *, linear, "),
        ("mx9,mx6", "--format: a place must have one format, and * has mx9 and mx6"),
        ("tensix:mx9", "--format: format must be a machine's, such as tensix's "),
    ],
)
def test_wrong_plans_are_refused(text, sentence):
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}"):
        parse(text)


def test_a_wrong_file_is_refused(tmp_path):
    (tmp_path / "plan.json").write_text("[1]")
    with pytest.raises(ValueError, match=r"--plan: .*plan\.json must hold an object of formats by place"):
        plans.read(tmp_path / "plan.json")


def test_cycles_are_those_of_the_machines_rates(model):
    counts = plans.macs(model, 10)
    total = sum(counts.values()) * len(model.blocks)
    assert plans.cycles(parse("bf16_lofi"), model, 10) == total / 2048
    assert plans.cycles(parse("float32"), model, 10) == 0
    down = counts["down"] * len(model.blocks)
    assert plans.cycles(parse("bf16_lofi,down=bf16_hifi4"), model, 10) == pytest.approx(
        (total - down) / 2048 + down / 512
    )
    assert (plans.rate("w8a8"), plans.rate("mxfp8_e4m3@mxfp4")) == (128 * 128, 4 * 128 * 128)


# A model's matmuls by a plan.


class Recorder(Backend):
    """Keeps the operands and the result of each product of another backend."""

    def __init__(self, inner):
        self.inner, self.products = inner, {}

    def norm(self, *arguments):
        return self.inner.norm(*arguments)

    def product(self, kind, block, a, b):
        result = self.inner.product(kind, block, a, b)
        self.products[kind, block] = (a, b, result)
        return result


@pytest.mark.parametrize("name", ["mxfp8_e4m3", "bfp8_hifi2", "mx9", "mxfp8_e4m3@mxfp4"])
def test_every_product_has_the_machines_bits(model, name):
    backend = Recorder(Arithmetic(parse(name)))
    forward(model, IDS, backend)
    assert len(backend.products) == len(KINDS) * len(model.blocks)
    for a, b, result in backend.products.values():
        if "@" in name:
            sides = zip(np.atleast_3d(a), b, strict=True) if a.ndim == 3 else [(a, b)]
            expected = [
                trainium3.matmul(np.ascontiguousarray(x), np.ascontiguousarray(y), b_format="mxfp4") for x, y in sides
            ]
            assert np.array_equal(result, expected if a.ndim == 3 else expected[0])
        else:
            assert np.array_equal(result, matmul(a, b, format=name))


def test_w8a8_is_rmsnorm_quant_and_the_fp8_product(model):
    backend = Recorder(Arithmetic(parse("w8a8")))
    forward(model, IDS, backend)
    block, x = model.blocks[0], model.embedding[IDS]
    eps = float(np.float32(model.epsilon).astype(ml_dtypes.bfloat16))
    expected = trainium3.linear_w8a8(x, block.q, gamma=block.attention_norm, eps=eps)
    assert np.array_equal(backend.products["q", 0][2], expected.astype(np.float32))
    a, b, result = backend.products["down", 0]
    assert np.array_equal(result, trainium3.linear_w8a8(a, b).astype(np.float32))
    a, b, result = backend.products["scores", 1]
    assert np.array_equal(result, matmul(a, b, format="bf16", machine="trainium3"))


@pytest.mark.parametrize("name", ["mx4", "w8a8"])
def test_parts_make_up_the_whole(model, name):
    """The errors of the operands and of the products and sums add up to the whole, but for the rounding to float32."""
    plan = parse(name)
    recorder = Recorder(Arithmetic(plan))
    forward(model, IDS, recorder)
    a, b, whole = recorder.products["down", 0]
    parts = {
        part: Arithmetic(plan, part=part).product("down", 0, a, b).astype(np.float64)
        for part in ("operands", "sums", "output")
    }
    exact = a.astype(np.float64) @ b
    assert np.abs(parts["operands"] - exact).max() > 1e-4 * np.abs(exact).max()
    assert np.allclose(parts["operands"] + parts["sums"] - exact, whole, rtol=0, atol=2e-6 * np.abs(exact).max())
    assert np.array_equal(parts["output"], exact.astype(np.float32))


def test_options_reach_the_machines(model):
    products = {}
    for options in (Options(), Options(others={"scale_rule": "nki05"}), Options(output="bf16")):
        recorder = Recorder(Arithmetic(parse("mxfp8_e4m3"), options=options))
        forward(model, IDS, recorder)
        products[options.output, *options.others] = recorder.products["q", 0]
    a, b, plain = products["float32",]
    assert np.array_equal(products["float32", "scale_rule"][2], matmul(a, b, format="mxfp8_e4m3", scale_rule="nki05"))
    assert np.array_equal(products["bf16",][2], plain.astype(ml_dtypes.bfloat16).astype(np.float32))


# Losses.


def test_figures_of_known_probabilities():
    reference = np.log(np.array([[0.5, 0.5], [0.25, 0.75]]))
    own = np.log(np.array([[0.5, 0.5], [0.75, 0.25]]))
    found = measured(reference, own, np.array([0, 1]), 1.0)
    assert found.perplexity == pytest.approx(2.0)
    assert found.kl == pytest.approx(0.5 * (0.25 * np.log(1 / 3) + 0.75 * np.log(3)))
    assert (found.top1, found.seconds) == (0.5, 1.0)
    assert measured(reference, reference, np.array([0, 1]), 0.0).kl == 0


def test_a_perturbation_moves_each_number_of_the_text(model):
    new = moved(model.embedding, np.array(IDS), seed=1)
    used = sorted(set(IDS))
    steps = np.abs(new.astype(np.float64) / model.embedding - 1)
    assert np.allclose(steps[used], loss.STEP, rtol=0.01, atol=0)
    assert not np.delete(steps, used, axis=0).any()
    assert np.array_equal(new, moved(model.embedding, np.array(IDS), seed=1))


def test_a_row_has_the_figures_of_its_runs(study):
    plan = parse("mx4")
    row = study.row(plan, spread=2, prompt=None, answer=0)
    kls = [study.loss(plan, seed=seed).kl for seed in range(3)]
    assert row.whole.kl == kls[0] > row.parts["sums"] >= 0
    assert row.spread[1] == pytest.approx(max(kls) - min(kls))
    assert row.parts == {part: study.loss(plan, part=part).kl for part in ("operands", "sums")}
    places = study.where(plan)
    assert places.kinds["down"] == study.loss(plan.only(kinds=("down",))).kl > 0
    assert places.blocks[1] == study.loss(plan.only(block=1)).kl > 0


def test_a_run_of_one_block_is_that_of_the_whole_model(study, model):
    """It begins with the states that float32 leaves before the block."""
    plan = parse("mx4").only(block=1)
    whole = forward(model, IDS, Arithmetic(plan))
    assert study.loss(plan).kl == measured(study.reference, log_softmax(whole), np.array(IDS), 0.0).kl


def test_results_are_kept_for_later_processes(study, model, monkeypatch):
    plan = parse("mx9")
    first = study.loss(plan)
    later, calls = Study(model, None, "tiny", IDS, Options()), []
    monkeypatch.setattr(loss, "forward", lambda *_: calls.append(1) or np.zeros((len(IDS), 16)))
    later.told = lambda: calls.append("told")
    assert later.loss(plan) == first
    assert calls == ["told"]
    assert Study(model, None, "other", IDS, Options()).loss(plan) != first


def test_cached_runs_see_no_later_token(model, tmp_path, monkeypatch):
    """In a block format, values of later tokens share a scale with those of a row, unless each token is a step of its own."""
    monkeypatch.setenv("BITPATH_BUILD", str(tmp_path))
    plan = parse("values=mx4")
    cached, whole = (Study(model, None, "tiny", IDS, Options(), cached=each).loss(plan) for each in (True, False))
    assert cached.kl != whole.kl
    backend, cache = Arithmetic(plan), Cache(model, len(IDS))
    steps = np.concatenate([forward(model, [token], backend, cache) for token in IDS])
    again = np.concatenate([forward(model, [token], backend, c) for c in [Cache(model, 4)] for token in IDS[:4]])
    assert np.array_equal(steps[:4], again)
    assert not np.array_equal(forward(model, IDS, backend)[:4], forward(model, IDS[:4], backend))


def test_the_cheapest_plan_keeps_the_bound(study, model):
    formats = ["bf16_hifi4", "bf16_hifi2", "bf16_lofi"]
    bound = study.loss(parse("bf16_lofi")).kl / 2
    steps = [step for _, step in cheapest(study, formats, bound)]
    assert all(step.kl <= bound for step in steps)
    costs = [step.cycles for step in steps]
    assert costs == sorted(costs, reverse=True)
    assert costs[-1] < plans.cycles(parse("bf16_hifi4"), model, len(IDS))
    last = parse(steps[-1].plan)
    assert study.loss(last).kl == steps[-1].kl
    assert [step.kl for _, step in cheapest(study, ["trainium3:fp32", "w8a8"], 10.0)][-1] > 0
    with pytest.raises(ValueError, match=r"--bound must be at least .*, the KL of bf16_hifi4, .*; not 0"):
        list(cheapest(study, formats, 0))


# The command's tables.


def test_tables_of_the_command(study, tmp_path):
    chosen = [parse("mx9"), parse("mxfp4")]
    rows = [study.row(plan, spread=1, prompt=None, answer=0) for plan in chosen]
    where = [study.where(plan) for plan in chosen]
    columns, cells, _ = command._losses(chosen, rows, Options())
    assert columns[:4] == ("format", "perplexity", "KL", "top-1")
    assert [row[0] for row in cells] == ["mx9", "mxfp4"]
    assert "documented" in cells[1][columns.index("standing")]
    columns, places, _ = command._places(where)
    assert columns == ("alone", "mx9", "mxfp4")
    assert [row[0] for row in places] == [*KINDS, *(f"block {block}" for block in range(len(study.model.blocks)))]
    assert command.standing(chosen[0], {"aie_ml_v2": AIE_ML_V2.numerics}) == "given"


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"bound": 0.1}, "--bound goes with --plan auto"),
        ({"plan": "x.json", "formats": ["mx9"]}, "--plan FILE has all formats; --format and --linear go without it"),
        ({"formats": ["mx9"], "machine": "tensix"}, "--format: mx9 has formats of aie_ml_v2, not of tensix alone"),
        ({"plan": "auto"}, "--plan auto needs the formats of one machine; name it with --machine"),
        (
            {"plan": "auto", "formats": ["mx9", "float32"]},
            "--plan auto needs formats of a machine for all places, not float32",
        ),
        (
            {"plan": "auto", "formats": ["mx9,1=mx6"]},
            "--plan auto needs formats of a machine for all places, not mx9,1=mx6",
        ),
        ({"linear": "w8a8", "machine": "tensix"}, "--linear w8a8 goes with --machine trainium3, not with tensix"),
    ],
)
def test_options_that_do_not_go_together(given, sentence):
    nothing = {"formats": (), "machine": None, "linear": None, "plan": None, "bound": None}
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        command._plans(**nothing | given)


def test_default_formats_are_those_of_the_machines():
    nothing = {"formats": (), "machine": None, "linear": None, "plan": None, "bound": None}
    assert [str(plan) for plan in command._plans(**nothing)] == [
        *(name for names in plans.FORMATS.values() for name in names),
        "w8a8",
    ]
    found = command._plans(**nothing | {"formats": ["mx9"], "linear": "w8a8"})
    assert json.loads(plans.dump(found[0])) == {"*": "mx9", "linear": "w8a8"}


class Words:
    """A tokenizer whose words are numbers."""

    def encode(self, text):
        return [int(each) for each in text.split()]

    def decode(self, ids):
        return "\n".join(map(str, ids))

    def prompt(self, question, *, system):
        return self.encode(question)


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Runs the command on a small model's folder."""
    monkeypatch.setenv("BITPATH_BUILD", str(tmp_path / "build"))
    monkeypatch.setattr(tokens, "read_tokens", lambda checkpoint: Words())
    monkeypatch.setattr(_click, "require_extra", lambda name: None)
    monkeypatch.setattr(command, "QUESTION", "1 2 3")
    save(tiny(7), tmp_path / "model")
    (tmp_path / "text.txt").write_text(" ".join(map(str, IDS)))

    def call(*words, text=True):
        given = ["--text", str(tmp_path / "text.txt")] if text else []
        line = ["--model", str(tmp_path / "model"), *given, *words]
        return CliRunner().invoke(command.lm_command, line, catch_exceptions=False)

    return call


def test_the_command_prints_and_keeps_its_tables(run, tmp_path):
    pytest.importorskip("matplotlib")
    done = run("--format", "mx9", "--format", "w8a8", "--spread", "1", "--output", "bf16")
    assert done.exit_code == 0
    assert "| mx9 | " in done.stdout
    assert "| block 1 | " in done.stdout
    found = json.loads((tmp_path / "build/reports/lm.json").read_text())
    assert [each["format"] for each in found] == ["mx9", "w8a8"]
    assert {"kl_operands", "kl_sums", "kl_output", "kl_down", "kl_block_1", "answer", "float32_perplexity"} <= found[
        0
    ].keys()
    page = (tmp_path / "build/reports/lm.html").read_text()
    assert page.count("<svg") == 1
    assert "KL when one part alone is in the format" in page
    again = run("--format", "mx9", "--spread", "1", "--output", "bf16", "--no-where", "--json")
    assert json.loads(again.stdout)[0]["kl"] == found[0]["kl"]


def test_the_command_answers_a_prompt(run):
    done = run("--prompt", "1 2", "--format", "mx9", "--tokens", "2", text=False)
    assert done.exit_code == 0
    assert "| float32 | " in done.stdout
    assert "| mx9 | " in done.stdout
    with pytest.raises(ValueError, match="--plan auto needs a text; --prompt alone prints answers"):
        run("--prompt", "1 2", "--machine", "tensix", "--plan", "auto", text=False)


def test_the_command_finds_a_plan_and_runs_it(run, tmp_path):
    done = run("--machine", "tensix", "--plan", "auto", "--bound", "1", "--json")
    steps = json.loads(done.stdout)
    assert steps[-1]["cycles"] < steps[0]["cycles"]
    file = tmp_path / "build/reports/plan.json"
    again = run("--plan", str(file), "--no-where", "--spread", "0", "--json")
    assert json.loads(again.stdout)[0]["kl"] == steps[-1]["kl"]
    with pytest.raises(ValueError, match="--format: a block must be 0 to 1, not 5"):
        run("--format", "mx9,5=mx6")


def test_the_command_measures_operations_on_tensix(run, tmp_path, monkeypatch):
    monkeypatch.setattr(command, "ANSWER", 1)
    done = run("--vector", "--format", "bf16_hifi4", "--no-where", "--spread", "0")
    assert done.exit_code == 0
    assert "| bf16_hifi4 with norm rope softmax silu residual on tensix | " in done.stdout
    assert "| all but the matmuls | " in done.stdout
    (found,) = json.loads((tmp_path / "build/reports/lm.json").read_text())
    alone = {name: found[f"kl_{name}_alone"] for name in ("matmuls", *OPERATIONS)}
    assert min(alone.values()) > 0
    plain = json.loads(run("--format", "bf16_hifi4", "--no-where", "--spread", "0", "--json").stdout)[0]
    assert plain["kl"] == alone["matmuls"] != found["kl"]
    assert plain["kl_sums"] == found["kl_sums"]
    for words, other in ((("--machine", "aie_ml_v2"), "--machine aie_ml_v2"), (("--plan", "auto"), "--plan auto")):
        with pytest.raises(ValueError, match=f"--vector goes with --machine tensix, not with {other}"):
            run("--vector", *words)
    with pytest.raises(ValueError, match="mx9 has formats of aie_ml_v2, not of tensix alone"):
        run("--vector", "--format", "mx9")
