"""``bitpath probe`` and ``bitpath identify``: what they print, their status, and damaged files."""

import json
import re

import numpy as np
import pytest

from bitpath.sim.study.probe.probe import predict
from bitpath.verif.kit.testplan import covers


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
