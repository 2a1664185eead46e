"""A kernel's outputs: their names, the .npz file that takes them, and their errors against float64."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from bitpath.golden.arrays.codec import DTYPES, format_of
from bitpath.rtl.common.files import replaceable, replacing
from bitpath.sim.study.nki.kernel_file import mistakes


def named(outputs: Any) -> dict[str, np.ndarray]:
    """Return the arrays that a kernel returned, as out_0, out_1 and so on."""
    every = outputs if isinstance(outputs, tuple | list) else (outputs,)
    return {f"out_{k}": each for k, each in enumerate(every) if isinstance(each, np.ndarray)}


def check_writable(option: str, path: Path | None) -> None:
    """Raise OSError unless the file of an option can be written: said before the run, not after it."""
    if path is not None:
        try:
            replaceable(path)
        except OSError as error:
            raise OSError(f"{option}: {error}") from None


def save(path: Path, outputs: dict[str, np.ndarray]) -> None:
    """Write outputs as .npz, those of dtypes that the file cannot name as words with the dtype in the key."""
    with replacing(path) as file:
        np.savez(file, **dict(_keyed(name, array) for name, array in outputs.items()))


def _keyed(name: str, array: np.ndarray) -> tuple[str, Any]:
    if array.dtype.isbuiltin == 1:
        return name, array
    return f"{name}:{array.dtype.name}", array.view(f"u{array.dtype.itemsize}")


def reference(module: ModuleType, name: str) -> Callable:
    """Return a function of the kernel's file, or else of numpy, with parts after dots.

    Raises ValueError if neither has it.
    """
    found: Any = vars(module).get(name)
    if found is None:
        found = np
        for part in name.split("."):
            found = getattr(found, part, None)
    if not callable(found):
        raise ValueError(f"--compare: {name!r} must be a function of {Path(str(module.__file__)).name} or of numpy")
    return found


@dataclass(frozen=True)
class Error:
    """How far an output is from its reference, in units in the last place of the output's dtype.

    Attributes
    ----------
    output, dtype : which output.
    largest, mean : errors where both are finite; None where nothing is.
    place : of the largest error; got and expected are the numbers there.
    not_finite : elements where one of the two is infinite or NaN, and rounding the reference does not make them equal.
    """

    output: str
    dtype: str
    largest: float | None
    mean: float | None
    place: tuple[int, ...]
    got: float | None
    expected: float | None
    not_finite: int

    def __str__(self) -> str:
        found = f"{self.output}: no finite elements"
        if self.largest is not None:
            found = (
                f"{self.output}: largest error {self.largest:.4g} ulp of {self.dtype}, mean {self.mean:.4g}; at"
                f" {list(self.place)} got {self.got:.9g}, expected {self.expected:.9g}"
            )
        return found + (f"; {self.not_finite} elements differ in being finite" if self.not_finite else "")


def errors(outputs: dict[str, np.ndarray], function: Callable, arguments: Sequence[Any]) -> list[Error]:
    """Return the errors of outputs against a function's results.

    Raises ValueError if the function fails, or returns other shapes or another number of results.
    """
    with mistakes("--compare"), np.errstate(all="ignore"):
        made = function(*arguments)
    results = [np.asarray(each) for each in (made if isinstance(made, tuple | list) else (made,))]
    if len(results) != len(outputs):
        raise ValueError(f"--compare: the function must return {len(outputs)} arrays, not {len(results)}")
    return [_error(name, array, each) for (name, array), each in zip(outputs.items(), results, strict=True)]


def _error(name: str, array: np.ndarray, expected: np.ndarray) -> Error:
    if array.shape != expected.shape:
        raise ValueError(f"--compare: the function must return shape {array.shape} for {name}, not {expected.shape}")
    with np.errstate(all="ignore"):
        got, wanted = array.astype(np.float64), expected.astype(np.float64)
        rounded = wanted.astype(array.dtype).astype(np.float64)
        finite = np.isfinite(got) & np.isfinite(wanted)
        distance = np.where(finite, np.abs(got - wanted) / _ulp(array.dtype, wanted), 0.0)
    alike = (got == rounded) | (np.isnan(got) & np.isnan(rounded))
    place = tuple(int(each) for each in np.unravel_index(int(distance.argmax()), distance.shape))
    any_finite = bool(finite.any())
    return Error(
        output=name,
        dtype=array.dtype.name,
        largest=float(distance[place]) if any_finite else None,
        mean=float(distance[finite].mean()) if any_finite else None,
        place=place,
        got=float(got[place]) if any_finite else None,
        expected=float(wanted[place]) if any_finite else None,
        not_finite=int((~finite & ~alike).sum()),
    )


def _ulp(dtype: np.dtype, values: np.ndarray) -> np.ndarray:
    """Return the distance of a dtype's numbers at values: 1 for integers."""
    if dtype not in DTYPES.values():
        return np.ones_like(values)
    fmt = format_of(dtype)
    # frexp's exponent is e + 1 for 1.f * 2**e.
    exponent = np.maximum(np.frexp(np.where(np.isfinite(values), values, 0.0))[1] - 1, fmt.emin)
    return np.ldexp(1.0, np.where(values == 0, fmt.emin, exponent) - fmt.fraction_bits)
