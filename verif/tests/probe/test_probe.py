"""Probes: variants and their classes, the fewest dots, a blind test, and both commands."""

import json
import re
import sys
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import pytest

from bitpath.golden.formats.catalogue import Rounding
from bitpath.golden.formats.sources import chosen, preset
from bitpath.golden.tensix.declarations.numerics import PRESETS, WORMHOLE
from bitpath.sim.engine.options import MACHINES, SimulationError
from bitpath.sim.study.probe import make as making
from bitpath.sim.study.probe.make import make, select
from bitpath.sim.study.probe.probe import UNITS, identify, load, predict, predictions, save
from bitpath.sim.study.probe.tensix import MATRIX_UNIT
from bitpath.sim.study.probe.unit import Unit, exact_results, probed_fields, variants
from bitpath.sim.study.probe.unit import results as golden_results
from bitpath.verif.kit.testplan import covers

TRIALS = 100
"""Of the blind test, for each machine."""
EXACT = 10
"""One of so many trials has its results from the exact twin."""
ALL_UNITS = [unit for units in UNITS.values() for unit in units]


@covers("probe.variants", "A variant that the probe cannot see would be named wrongly, or not at all")
@pytest.mark.parametrize("unit", ALL_UNITS, ids=lambda unit: unit.name)
def test_every_field_is_varied_or_left_out_with_a_reason(unit):
    """Every field of the numerics is varied in all its values, or left out with a reason; the pool separates all
    variants but those known to compute equal bits."""
    found = variants(unit)
    presets = [each.name for each in unit.presets]
    assert [each.name for each in found[: len(presets)]] == presets
    assert {each.field for each in found[len(presets) :]} == set(probed_fields(unit))
    assert all(unit.left_out.values())
    default = found[0].numerics
    for each in found[len(presets) :]:
        changed = [name for name in unit.presets[0].sources if getattr(each.numerics, name) != getattr(default, name)]
        assert changed == [each.field]


@covers("probe.variants")
def test_values_come_from_the_declarations():
    names = {each.name for each in variants(MATRIX_UNIT)}
    assert PRESETS.keys() <= names
    assert {f"product_guard_bits={bits}" for bits in range(1, 14)} <= names
    assert {"group=4", "group=16", "dst_tie=RNE", "dst_tie=RNU", "masking=SRCA_STYLE", "pre_round=False"} <= names
    assert not {"dst_tie=RTZ", "dst_tie=RNA", "src_a_row_step=8"} & names


def test_another_preset_is_varied():
    found = {each.name: each.numerics for each in variants(MATRIX_UNIT, ["group"], "tensix_wormhole_fixed")}
    assert list(found) == [*PRESETS, "group=4", "group=16"]
    assert not found["group=4"].minus_one_quirk
    assert WORMHOLE.numerics.minus_one_quirk


@covers("probe.variants")
@pytest.mark.parametrize("machine", MACHINES)
def test_what_a_probe_separates(probes, machine):
    """Variants in one class have equal numerics, or a field is known to have no effect."""
    probe, separated = probes[machine]
    assert 0 < probe.size <= making.LARGEST
    assert probe.size == sum(len(each.selection.chosen) for each in separated)
    for each in separated:
        for group in each.classes:
            known = set(each.unit.no_effect) | {"align_rounding", "product"}
            fields = [name for name in probed_fields(each.unit) if len({getattr(v.numerics, name) for v in group}) > 1]
            assert set(fields) <= known, "a variant that the pool should separate"


@pytest.mark.deep  # the extra formal is there
@pytest.mark.parametrize("machine", MACHINES)
def test_no_smaller_set_of_the_pool_separates(probes, machine):
    pytest.importorskip("z3", reason="the extra formal is not installed")
    for each in probes[machine][1]:
        assert each.selection.bound == len(each.selection.chosen)


@covers("probe.blind", "It is the whole purpose")
@pytest.mark.parametrize("machine", MACHINES)
def test_a_hidden_variant_is_named(probes, results, machine):
    """100 hidden variants a machine, computed by golden and some by the exact twin: the class named is theirs."""
    probe, separated = probes[machine]
    expected = {each.unit.name: [[one.name for one in group] for group in each.classes] for each in separated}
    known = predict(probe, list(probe.dots))
    rng = np.random.default_rng(2026)
    named = 0
    for trial in range(TRIALS):
        compute = golden_results if trial % EXACT else exact_results
        hidden, words = {}, {}
        for each in separated:
            every = variants(each.unit)
            hidden[each.unit.name] = variant = every[rng.integers(len(every))]
            words |= compute(each.unit, variant.numerics, probe.dots)
        _, device = load(results(probe, words))
        for unit, fits in identify(device, known).items():
            (fit,) = fits
            assert not fit.differences
            assert list(fit.variants) == next(group for group in expected[unit] if hidden[unit].name in group)
        named += 1
    assert named == TRIALS


@covers("probe.blind")
@pytest.mark.parametrize("machine", MACHINES)
def test_a_device_that_fits_nothing(probes, machine):
    probe, _ = probes[machine]
    for prediction in predict(probe, list(probe.dots)):
        _, first = prediction.classes[0]
        words = {name: each.copy() for name, each in first.items()}
        name = next(iter(words))
        words[name][0, 0] ^= 0x55
        nearest = identify(words, [prediction])[prediction.unit.name]
        assert 0 < len(nearest) <= 3
        assert all(each.differences for each in nearest)
        assert [len(each.differences) for each in nearest] == sorted(len(each.differences) for each in nearest)
        assert len(nearest[0].differences) == 1
        assert (nearest[0].differences[0].operation, nearest[0].differences[0].dot) == (name, 0)


@covers("probe.blind")
def test_operations_without_results_are_not_compared(probes):
    probe, _ = probes["tensix"]
    (prediction,) = predict(probe, ["pack_l1_fp16"])
    (whole,) = predict(probe, list(probe.dots))
    assert len(prediction.classes) < len(whole.classes)
    assert identify(prediction.classes[0][1], [prediction])["Matrix unit"][0].variants[0] == "tensix_wormhole"


@covers("probe.fewest")
@pytest.mark.deep
def test_a_probe_is_made_the_same_again(probes):
    for machine, (probe, _) in probes.items():
        assert make(machine)[0].digest == probe.digest


def test_some_fields_need_fewer_dots(probes, tmp_path):
    whole, _ = probes["aie_ml_v2"]
    probe, separated = make("aie_ml_v2", ["align_rounding"])
    assert probe.size < whole.size
    assert {variant.field for group in separated[0].classes for variant in group} == {"", "align_rounding"}
    save(probe, tmp_path / "probe.npz")
    again, words = load(tmp_path / "probe.npz")
    assert (again.fields, again.digest, words) == (("align_rounding",), probe.digest, {})


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("tensix", ["dst_ties"]), "did you mean 'dst_tie'"),
        (("tensix", ["src_a_row_step"]), "the field src_a_row_step is not probed: it limits"),
        (("tensix", [], "wormhole"), "preset must be 'tensix_wormhole'"),
        (("tensics",), "machine must be"),
    ],
)
def test_mistakes(arguments, says):
    with pytest.raises(ValueError, match=says):
        make(*arguments)


@covers("probe.variants")
def test_tiers_that_differ_are_an_error(monkeypatch):
    wrong = dict.fromkeys(["quantize_mx_e4m3fn"], np.zeros((1, 33), np.uint8))
    monkeypatch.setattr(making, "exact_results", lambda *_: wrong)
    with pytest.raises(SimulationError, match="golden's two tiers differ in quantize_mx_e4m3fn"):
        make("trainium3", ["scale_rule"])


def test_too_many_dots_are_an_error(monkeypatch):
    monkeypatch.setattr(making, "LARGEST", 0)
    with pytest.raises(SimulationError, match="the probe has 1 dots, more than 0"):
        make("trainium3", ["scale_rule"])


def test_predictions_of_each_preset():
    """1 * 1 over Dst = -1 - 2**-23: the renormalisation bug of Wormhole."""
    one, dst = [0x1FC00, *[0] * 15], 0xBF800001
    found = predictions("tensix", "mvmul_bf16_dst32_lofi", dst=dst, src_b=one, src_a=one)
    assert found.keys() == PRESETS.keys()
    assert found["tensix_wormhole"] == "c1800000"
    assert found["tensix_wormhole_fixed"] == "b4000000"
    found = predictions("trainium3", "quantize_mx_e4m3fn", src=[[0x43F0, 0, 0, 0], *[[0] * 4] * 7])
    assert [words.split()[::32] for words in found.values()] == [["7e", "7f"], ["77", "80"]]


@pytest.mark.parametrize(
    ("operation", "operands", "says"),
    [
        ("elwad", {}, "operation must be"),
        ("elwadd_bf16_dst32_lofi", {"dst": 0}, "operands of elwadd_bf16_dst32_lofi must be dst, src_b, src_a, not dst"),
        ("elwadd_bf16_dst32_lofi", {"dst": -1, "src_b": 0, "src_a": 0}, "dst must be uint32 of shape"),
        ("elwadd_bf16_dst32_lofi", {"dst": [0], "src_b": 0, "src_a": 0}, r"of shape \[\], not \[0\]"),
    ],
)
def test_mistakes_of_predictions(operation, operands, says):
    with pytest.raises(ValueError, match=says):
        predictions("tensix", operation, **operands)


@covers("probe.variants")
def test_values_of_a_record_are_those_that_it_does_not_refuse():
    @dataclass(frozen=True, kw_only=True)
    class Inner:
        flag: bool
        tie: Rounding

        def __post_init__(self):
            if self.flag and self.tie is Rounding.RTZ:
                raise ValueError("refused")

    @dataclass(frozen=True, kw_only=True)
    class Numerics:
        inner: Inner | None
        bits: int

    presets = (preset("p", Numerics, inner=(None, chosen("why")), bits=(1, chosen("why"))),)
    unit = Unit(
        name="u", presets=presets, operations=(), values={Rounding: (Rounding.RNE, Rounding.RTZ), "bits": (1, 2)}
    )
    found = [each.numerics for each in variants(unit)[1:]]
    inner = [(each.inner.flag, each.inner.tie.name) for each in found if each.bits == 1]
    assert inner == [(False, "RNE"), (False, "RTZ"), (True, "RNE")]
    assert [each.bits for each in found if each.inner is None] == [2]
    with pytest.raises(ValueError, match="u must list the values of a field of type <class 'int'>"):
        variants(replace(unit, values={}))


# The fewest dots: greedy, z3's proof, and the bounds.


CHAIN = np.array([[0, 0, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])
"""Each class differs from the first in a dot of its own."""


def separates(labels, chosen):
    return len(np.unique(labels[:, list(chosen)], axis=0)) == len(labels)


@pytest.fixture
def without_z3(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setitem(sys.modules, "z3", None)


@covers("probe.fewest", "A claim of minimality must be a proof")
@pytest.mark.parametrize(
    ("labels", "size"),
    [
        (CHAIN, 4),
        (np.array([[0, 0, 0], [1, 0, 1], [0, 1, 2]]), 1),
        (np.array([[0, 0], [0, 1], [1, 0], [1, 1]]), 2),
        (np.array([[0, 1]]), 0),
    ],
)
def test_by_hand(labels, size, without_z3):
    """The set of dots is the smallest by brute force; without z3, or after its time, the bound is 1; a probe is the
    same again."""
    found = select(labels)
    assert len(found.chosen) == size
    assert found.bound <= size
    assert separates(labels, found.chosen) or not size


def test_rows_that_no_dot_separates():
    with pytest.raises(ValueError, match="no dot of the pool separates some classes"):
        select(np.array([[0, 1], [0, 1], [1, 1]]))


@covers("probe.fewest")
@pytest.mark.deep  # the extra formal is there
@pytest.mark.parametrize("seed", range(20))
def test_the_smallest_set_by_brute_force(seed):
    pytest.importorskip("z3", reason="the extra formal is not installed")
    labels = np.random.default_rng(seed).choice(3, (7, 8), p=[0.8, 0.1, 0.1])
    # A dot for each class, so that a set exists.
    labels = np.concatenate([labels, np.eye(7, dtype=int)], axis=1)
    smallest = next(n for n in range(16) if any(separates(labels, each) for each in combinations(range(15), n)))
    found = select(labels)
    assert (len(found.chosen), found.bound) == (smallest, smallest)
    assert separates(labels, found.chosen)


@covers("probe.fewest")
def test_greedy_alone_states_a_lower_bound(without_z3):
    found = select(CHAIN)
    assert (found.bound, found.proof) == (4, "by counting")  # a dot for each of four classes
    labels = np.random.default_rng(3).choice(2, (30, 80), p=[0.8, 0.2])
    found = select(labels)
    assert 5 <= found.bound < len(found.chosen)
    assert found.proof == "by counting; the extra formal has z3, which proves more"


@covers("probe.fewest")
@pytest.mark.deep  # the extra formal is there
def test_a_search_that_runs_out_of_time_states_the_bound_reached(monkeypatch):
    pytest.importorskip("z3", reason="the extra formal is not installed")
    monkeypatch.setattr("bitpath.sim.study.probe.make.SECONDS", 0.001)
    labels = np.random.default_rng(0).choice(2, (60, 300), p=[0.9, 0.1])
    labels = np.concatenate([labels, np.eye(60, dtype=int)], axis=1)
    found = select(labels)
    assert separates(labels, found.chosen)
    assert 6 <= found.bound <= len(found.chosen)
    assert "stopped" in found.proof


# ``bitpath probe`` and ``bitpath identify``: what they print, their status, and damaged files.


@pytest.fixture
def device(probes, results):
    """Return a function that writes the results of a preset, and lets a change damage the arrays of the file."""

    def write(machine, preset, change=lambda arrays: None):
        probe, _ = probes[machine]
        words = {}
        for prediction in predict(probe, list(probe.dots)):
            chosen = [own for group, own in prediction.classes if preset in [each.name for each in group]]
            words |= chosen[0] if chosen else prediction.classes[0][1]
        file = results(probe, {name: each.copy() for name, each in words.items()})
        with np.load(file) as archive:
            arrays = dict(archive)
        change(arrays)
        np.savez(file, **arrays)
        return file

    return write


def test_probe(bitpath, tmp_path):
    line = ("probe", "trainium3", "--fields", "scale_rule")
    status, out, err = bitpath(*line)
    assert (status, err) == (0, "")
    first, equal, *files = out.splitlines()
    assert re.fullmatch(r"quantize_mx: 3 variants in 2 classes, 1 dot of a pool of 16; no smaller set \(.*\)", first)
    assert equal == "  equal on the whole pool: quantize_mx_nki05 = scale_rule=NKI05 (equal numerics)"
    assert files == [f"build/probe/trainium3/{name}" for name in ("probe.npz", "predictions.json", "device.py")]
    assert all((tmp_path / file).is_file() for file in files)
    assert bitpath(*line, "--out", "there", "--quiet") == (0, "", "")
    assert (tmp_path / "there" / "device.py").read_text() == (tmp_path / files[-1]).read_text()
    record = json.loads(bitpath(*line, "--json")[1])
    assert record["digest"] in (tmp_path / files[-1]).read_text()
    (unit,) = record["units"]
    assert unit["minimal"]
    assert {name: unit[name] for name in ("unit", "variants", "classes", "dots", "bound", "pool")} == {
        "unit": "quantize_mx",
        "variants": 3,
        "classes": 2,
        "dots": 1,
        "bound": 1,
        "pool": 16,
    }


@pytest.mark.deep
def test_fields_that_no_dot_separates(bitpath):
    assert bitpath("probe", "trainium3", "--fields", "align_rounding")[0] == 0
    status, out, err = bitpath("probe", "aie_ml_v2", "--fields", "mx4_path")
    assert (status, err) == (0, "")
    assert "aie_ml_v2 = aie_ml_v2_documented = mx4_path=MX9 (mx4_path: only MX4 takes it" in out


@covers("probe.files")
@pytest.mark.deep
def test_identify_a_preset(bitpath, probes, device):
    file = device("tensix", "tensix_wormhole_fixed")
    classes = [[each.name for each in group] for group in probes["tensix"][1][0].classes]
    (fitting,) = (names for names in classes if "minus_one_quirk=False" in names)
    status, out, err = bitpath("identify", file)
    assert (status, err) == (0, "")
    name, compared = out.splitlines()
    assert name == f"Matrix unit: {' = '.join(fitting)}"
    assert re.fullmatch(r"tensix: (\d+) of \1 operations compared", compared)
    assert bitpath("identify", file, "--quiet") == (0, "", "")
    record = json.loads(bitpath("identify", file, "--json")[1])
    assert record["machine"] == "tensix"
    nearest = [{"variants": fitting, "differences": []}]
    assert record["units"] == [{"unit": "Matrix unit", "fits": True, "nearest": nearest}]


def change_a_byte(arrays):
    arrays["quantize_mx_e4m3fn.result"][0, 32] ^= 0xFF


@covers("probe.files")
@pytest.mark.deep
def test_identify_what_nothing_fits(bitpath, device):
    file = device("trainium3", "trainium3_quad_mx_aligned", change_a_byte)
    status, out, err = bitpath("identify", file)
    assert (status, err) == (1, "")
    assert "nc_matmul_mx: trainium3_quad_mx_aligned\n" in out
    assert "quantize_mx: no variant fits; the nearest are\n  quantize_mx_ocp, which differs in 1:\n" in out
    assert re.search(r"    quantize_mx_e4m3fn\[0\]: device [0-9a-f ]+, variant [0-9a-f ]+\n", out)


@pytest.mark.deep
def test_what_nothing_fits_as_json(bitpath, device):
    file = device("trainium3", "trainium3_quad_mx_aligned", change_a_byte)
    status, out, err = bitpath("identify", file, "--json")
    assert (status, [each["fits"] for each in json.loads(out)["units"]]) == (1, [True, True, False])
    assert err.startswith("quantize_mx: no variant fits")


@pytest.mark.deep
def test_identify_without_some_operations(bitpath, device):
    def change(arrays):
        for name in [name for name in arrays if name.endswith(".result") and not name.startswith("nc_matmul_mx")]:
            del arrays[name]

    status, out, _ = bitpath("identify", device("trainium3", "trainium3_quad_mx_aligned", change))
    assert status == 0
    assert re.fullmatch(r"nc_matmul_mx: trainium3_quad_mx_aligned\ntrainium3: 2 of \d+ operations compared\n", out)


def without(name):
    return lambda arrays: arrays.pop(name)


def as_text(name, text):
    return lambda arrays: arrays.update({name: np.array(text)})


def change_operand(arrays):
    arrays["quantize_mx_e4m3fn.src"][0, 0, 0] ^= 1


def change_form(arrays):
    arrays["quantize_mx_e4m3fn.result"] = arrays["quantize_mx_e4m3fn.result"].astype(np.int64)


def drop_results(arrays):
    for name in [name for name in arrays if name.endswith(".result")]:
        del arrays[name]


@covers("probe.files", "Results come from another machine, by hand")
@pytest.mark.parametrize(
    ("change", "says"),
    [
        (without("machine"), "results.npz is no probe: it lacks machine"),
        (without("quantize_mx_e4m3fn.src"), "results.npz is no probe: it lacks quantize_mx_e4m3fn.src"),
        (as_text("machine", "tensics"), "machine of .*results.npz must be .* not 'tensics'; did you mean 'tensix'?"),
        (as_text("base", "nosuch"), "base of .*results.npz must be"),
        (as_text("fields", ["nosuch"]), "field must be"),
        (as_text("digest", "0"), "holds other operands than when it was made"),
        (as_text("nosuch.result", 0), "operation of .*results.npz must be"),
        (change_operand, "holds other operands than when it was made"),
        (change_form, r"quantize_mx_e4m3fn.result must be uint8 \[1, 33\], not int64 \[1, 33\]"),
        (drop_results, "has no results; run the device script"),
    ],
)
def test_a_damaged_file(bitpath, device, change, says):
    """Missing, cut, foreign and changed files of results; the status of both commands, and their output as text and
    JSON."""
    status, out, err = bitpath("identify", device("trainium3", "trainium3_quad_mx", change))
    assert (status, out) == (2, "")
    assert re.fullmatch(f"bitpath: .*{says}.*\n", err)


@covers("probe.files")
@pytest.mark.parametrize("content", [b"", b"text", b"\x93NUMPY", b"PK\x03\x04 cut"])
def test_a_file_that_is_no_archive(bitpath, tmp_path, content):
    (tmp_path / "results.npz").write_bytes(content)
    status, out, err = bitpath("identify", "results.npz")
    assert (status, out) == (2, "")
    assert err == "bitpath: results.npz is not a whole .npz file of arrays without Python objects\n"


def test_an_array_is_no_archive(bitpath, tmp_path):
    np.save(tmp_path / "results.npy", np.zeros(3))
    status, _, err = bitpath("identify", "results.npy")
    assert status == 2
    assert err == "bitpath: results.npy is not a whole .npz file of arrays without Python objects\n"
