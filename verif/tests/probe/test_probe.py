"""Variants, the classes that a probe separates, and the blind test: a hidden variant's results name its class."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from bitpath.golden.formats.catalogue import Rounding
from bitpath.golden.formats.sources import chosen, preset
from bitpath.golden.tensix.declarations.numerics import PRESETS, WORMHOLE
from bitpath.sim.engine.errors import SimulationError
from bitpath.sim.engine.options import MACHINES
from bitpath.sim.study.probe import make as making
from bitpath.sim.study.probe.make import make
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
