"""A probe: its file, the device's raw words beside it, the variants that fit them, and the script that runs on the device."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bitpath.golden.arrays.arguments import check_choice
from bitpath.golden.arrays.files import read_npz
from bitpath.rtl.common.files import write_whole
from bitpath.sim.study.probe.aie_ml_v2 import VECTOR_UNITS
from bitpath.sim.study.probe.tensix import MATRIX_UNIT
from bitpath.sim.study.probe.trainium3 import MATMUL, MX_MATMUL, QUANTIZE
from bitpath.sim.study.probe.unit import (
    Dots,
    Operation,
    Results,
    Unit,
    Variant,
    check_fields,
    classes,
    count,
    exact_results,
    results,
    variants,
)

# The units of each machine that probes look at.


UNITS: dict[str, Sequence[Unit]] = {
    "trainium3": (MX_MATMUL, MATMUL, QUANTIZE),
    "tensix": (MATRIX_UNIT,),
    "aie_ml_v2": VECTOR_UNITS,
}


def units_of(machine: str) -> Sequence[Unit]:
    """Return a machine's units; raise ValueError for an unknown machine."""
    return UNITS[check_choice("machine", machine, UNITS)]


def operations_of(machine: str) -> dict[str, Operation]:
    """Return a machine's operations by name."""
    return {each.name: each for unit in units_of(machine) for each in unit.operations}


def presets_of(machine: str) -> list[str]:
    """Return the names of a machine's presets."""
    return [each.name for unit in units_of(machine) for each in unit.presets]


# A probe as a file: operands by operation in an .npz with a digest, and the device's raw words beside them.


RESULT = "result"
"""Name of the raw words of an operation, beside its operands."""


@dataclass(frozen=True)
class Probe:
    """Dot products that probe a machine.

    Attributes
    ----------
    machine : its name.
    fields : fields that the probe varies; all when empty.
    base : preset that it varies; each unit's first when empty.
    dots : operands by operation.
    """

    machine: str
    fields: tuple[str, ...]
    base: str
    dots: Mapping[str, Dots]

    @property
    def size(self) -> int:
        return sum(map(count, self.dots.values()))

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        """The operands by the names of the file."""
        return {f"{name}.{operand}": each for name, dots in self.dots.items() for operand, each in dots.items()}

    @property
    def digest(self) -> str:
        """Digest of all that results depend on."""
        text = hashlib.sha256(repr((self.machine, self.fields, self.base)).encode())
        for name, array in sorted(self.arrays.items()):
            text.update(repr((name, array.dtype.str, array.shape)).encode() + array.tobytes())
        return text.hexdigest()[:16]


def save(probe: Probe, path: Path) -> None:
    """Write a probe as an archive that the device script reads."""
    about = {"machine": probe.machine, "fields": list(probe.fields), "base": probe.base, "digest": probe.digest}
    words = {name: np.array(value, np.str_) for name, value in about.items()}
    arrays: dict[str, Any] = {**words, **probe.arrays}
    np.savez(path, **arrays)


def load(path: Path) -> tuple[Probe, dict[str, np.ndarray]]:
    """Return the probe of an archive and the raw words by operation, none where a device has not written them.

    Raises
    ------
    ValueError : as `read_npz`; no probe, of an unknown machine, changed since it was made, or words of another form.
    """
    arrays = read_npz(path)
    missing = [name for name in ("machine", "fields", "base", "digest") if name not in arrays]
    if missing:
        raise ValueError(f"{path} is no probe: it lacks {' and '.join(missing)}")
    machine, base, digest = (str(arrays[name]) for name in ("machine", "base", "digest"))
    fields = tuple(map(str, arrays["fields"].reshape(-1)))
    check_choice(f"machine of {path}", machine, UNITS)
    check_fields(units_of(machine), fields)
    if base:
        check_choice(f"base of {path}", base, presets_of(machine))
    operations = operations_of(machine)
    dots, words = {}, {}
    for name in dict.fromkeys(each.partition(".")[0] for each in arrays if "." in each):
        check_choice(f"operation of {path}", name, operations)
        operation = operations[name]
        dots[name] = {each: _array(path, arrays, f"{name}.{each}") for each in operation.operands}
        if f"{name}.{RESULT}" in arrays:
            words[name] = arrays[f"{name}.{RESULT}"]
            form = np.dtype(operation.result.dtype), (count(dots[name]), *operation.result.shape)
            if (words[name].dtype, words[name].shape) != form:
                given = f"{words[name].dtype} {list(words[name].shape)}"
                raise ValueError(f"{path}: {name}.{RESULT} must be {form[0]} {list(form[1])}, not {given}")
    probe = Probe(machine, fields, base, dots)
    if probe.digest != digest:
        raise ValueError(f"{path} holds other operands than when it was made: digest {probe.digest}, not {digest}")
    return probe, words


def _array(path: Path, arrays: Mapping[str, np.ndarray], name: str) -> np.ndarray:
    if name not in arrays:
        raise ValueError(f"{path} is no probe: it lacks {name}")
    return arrays[name]


# Compares a device's raw words with those of every variant, computed anew, and names the variants that fit.


NEAREST = 3
"""Classes that are shown where none fits."""


@dataclass(frozen=True)
class Difference:
    """A dot in which a device and a variant differ: raw words in hexadecimal."""

    operation: str
    dot: int
    device: str
    variant: str


@dataclass(frozen=True)
class Fit:
    """Variants of equal results, and the dots in which the device differs from them."""

    variants: Sequence[str]
    differences: Sequence[Difference]


@dataclass(frozen=True)
class Prediction:
    """Classes of a unit's variants with their raw words on a probe's dots."""

    unit: Unit
    classes: Sequence[tuple[Sequence[Variant], Results]]


def predict(probe: Probe, operations: Sequence[str]) -> list[Prediction]:
    """Return golden's words of every variant on the dots of these operations; units without any are left out."""
    found = []
    for unit in units_of(probe.machine):
        dots = {each.name: probe.dots[each.name] for each in unit.operations if each.name in operations}
        if dots:
            own = variants(unit, probe.fields, probe.base)
            words = {each.name: results(unit, each.numerics, dots) for each in own}
            groups = classes(own, list(words.values()))
            found.append(Prediction(unit, [(group, words[group[0].name]) for group in groups]))
    return found


def identify(words: Mapping[str, np.ndarray], predictions: Sequence[Prediction]) -> dict[str, list[Fit]]:
    """Return for each unit the class that fits, alone, or else the nearest classes with their differences."""
    found = {}
    for each in predictions:
        fits = [Fit([one.name for one in group], _differences(words, own)) for group, own in each.classes]
        fits.sort(key=lambda fit: len(fit.differences))
        found[each.unit.name] = fits[:1] if not fits[0].differences else fits[:NEAREST]
    return found


def as_hex(words: np.ndarray) -> str:
    """Return the raw words of a dot in hexadecimal, of the width of their dtype."""
    return " ".join(f"{int(word):0{2 * words.dtype.itemsize}x}" for word in words)


def _differences(device: Mapping[str, np.ndarray], own: Results) -> list[Difference]:
    return [
        Difference(name, int(dot), as_hex(device[name][dot]), as_hex(expected[dot]))
        for name, expected in own.items()
        for dot in np.flatnonzero((device[name] != expected).any(axis=1))
    ]


# Predictions for a ledger of measurements: the result of each preset for given operands, in hexadecimal.


def predictions(machine: str, operation: str, **operands: Any) -> dict[str, str]:
    """Return the raw words of one dot under each preset, by the exact twin; spaces separate the words of one result.

    Parameters
    ----------
    operation : one that `bitpath probe` lists, such as elwadd_bf16_dst32_lofi.
    operands : its operands, integers or nested lists, in the shapes that it declares.

    Raises
    ------
    ValueError : an unknown machine, operation or operand, or an operand of another shape or range.
    """
    known = operations_of(machine)
    check_choice("operation", operation, known)
    wanted = known[operation].operands
    if operands.keys() != wanted.keys():
        raise ValueError(f"operands of {operation} must be {', '.join(wanted)}, not {', '.join(operands)}")
    dots = {}
    for name, operand in wanted.items():
        given = np.array(operands[name])
        limits = np.iinfo(operand.dtype)
        if given.shape != operand.shape or given.min() < limits.min or given.max() > limits.max:
            raise ValueError(
                f"{name} must be {limits.dtype.name} of shape {list(operand.shape)}, not {operands[name]!r}"
            )
        dots[name] = given.astype(operand.dtype)[np.newaxis]
    (unit,) = (each for each in units_of(machine) if known[operation] in each.operations)
    presets = [each for each in variants(unit) if not each.field]
    return {each.name: as_hex(exact_results(unit, each.numerics, {operation: dots})[operation][0]) for each in presets}


# Writes a probe's folder: operands, predictions of every variant, and the script that runs on the device.


SCRIPTS = {
    "trainium3": {"device.py": "trainium3.py.jinja"},
    "tensix": {"device.cpp": "tensix.cpp.jinja", "collect.py": "collect.py.jinja"},
    "aie_ml_v2": {"device.cpp": "aie_ml_v2.cpp.jinja", "collect.py": "collect.py.jinja"},
}
"""Files of each machine, and the templates that they are filled in from."""


def write(probe: Probe, folder: Path) -> list[Path]:
    """Write probe.npz, predictions.json and the scripts; return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    save(probe, folder / "probe.npz")
    write_whole(folder / "predictions.json", json.dumps(predicted(probe), indent=1) + "\n")
    scripts = [folder / name for name in SCRIPTS[probe.machine]]
    for script in scripts:
        write_whole(script, text(probe, SCRIPTS[probe.machine][script.name]))
    return [folder / "probe.npz", folder / "predictions.json", *scripts]


def predicted(probe: Probe) -> dict[str, Any]:
    """Return the raw words of every variant in hexadecimal, by unit, variant, operation and dot."""
    units = {
        each.unit.name: {
            variant.name: {name: [as_hex(dot) for dot in own] for name, own in words.items()}
            for group, words in each.classes
            for variant in group
        }
        for each in predict(probe, list(probe.dots))
    }
    return {"machine": probe.machine, "digest": probe.digest, "units": units}


def text(probe: Probe, template: str) -> str:
    """Return a filled-in template of this folder."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["c_array"] = c_array
    operations = {name: each for name, each in operations_of(probe.machine).items() if name in probe.dots}
    return environment.get_template(template).render(probe=probe, operations=operations, count=count, result=RESULT)


def c_array(array: np.ndarray) -> str:
    """Return the braces of a C array of any shape."""
    if array.ndim == 0:
        return hex(int(array)) if array.dtype.kind == "u" else str(int(array))
    return "{" + ", ".join(c_array(each) for each in array) + "}"
