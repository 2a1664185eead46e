"""A probe as a file: operands by operation in an .npz with a digest, and the device's raw words beside them."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bitpath.golden.arrays.arguments import check_choice
from bitpath.golden.arrays.files import read_npz
from bitpath.sim.study.probe.machines import UNITS, operations_of, presets_of, units_of
from bitpath.sim.study.probe.unit import Dots, count
from bitpath.sim.study.probe.variants import check_fields

RESULT = "result"
"""Name of the raw words of an operation, beside its operands."""


@dataclass(frozen=True)
class Probe:
    """Dots of a machine.

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
