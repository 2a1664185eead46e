"""One matmul for all machines and formats, on all kinds of arrays."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from bitpath.golden.arrays.arguments import check_broadcast, check_choice, checked, operand
from bitpath.golden.arrays.files import FileError, read_json
from bitpath.golden.arrays.parallel import Progress
from bitpath.golden.formats.records import from_dict, to_dict
from bitpath.golden.formats.sources import Preset
from bitpath.golden.machines import Machine, find_machine


@checked
def matmul(
    a: Any,
    b: Any,
    *,
    format: str,
    machine: str | None = None,
    numerics: Any = None,
    progress: Progress | None = None,
    **options: Any,
) -> np.ndarray:
    """Multiply [..., M, K] @ [..., K, N] with the bits of a machine.

    Parameters
    ----------
    a, b : arrays of floats or integers, lists, or objects with `__array__` or `__dlpack__`. float64 is rounded to float32;
        the machine's own conversion to the format follows. Leading axes broadcast as numpy's do.
    format : trainium3's "mxfp8_e4m3", "mxfp8_e5m2", "mxfp4" (weights; activations are mxfp8_e4m3); tensix's "bf16", "tf32",
        "fp16", "fp8", "bfp8", "bfp4", "bfp2" or "int8", followed by "_lofi", "_hifi2", "_hifi3" or "_hifi4"; aie_ml_v2's "mx9",
        "mx6", "mx4", "bfp16ebs8" (of XDNA2), "bf16", "fp16", "fp8_e4m3", "fp8_e4m3fn", "fp8_e4m3fnuz", "fp8_e5m2", "fp8_e5m2fnuz", "int8", "int16",
        "int16_64", "int32x16".
    machine : "trainium3", "tensix" or "aie_ml_v2"; None is the machine that has the format.
    numerics : the machine's numerics, a preset's name, or a JSON file as `read_numerics` takes it; None is the machine's default.
    progress : is told the number of finished parts and of all, for each product of two matrices.
    options : further arguments of the machine's own `matmul`, such as `dst32` of tensix or `rounding` of aie_ml_v2.

    Returns
    -------
    float32 [..., M, N]; for formats of integers int32 (tensix) or int64 (aie_ml_v2).

    Raises
    ------
    TypeError, ValueError : operands, names or options that the machine does not take.
    """
    record = find_machine(machine, format)
    left, right = (operand(name, value, format in record.integers) for name, value in (("a", a), ("b", b)))
    arguments = {**record.formats[format], "numerics": find_numerics(record, numerics), "progress": progress, **options}
    if right.ndim == 2:
        # A row of the result depends on its own row of `a` alone: all leading axes are one product.
        rows = np.ascontiguousarray(left.reshape(-1, left.shape[-1]))
        return record.matmul(rows, right, **arguments).reshape(*left.shape[:-1], right.shape[-1])
    leading = check_broadcast(a=left.shape[:-2], b=right.shape[:-2])
    lefts, rights = (
        np.broadcast_to(side, (*leading, *side.shape[-2:])).reshape(-1, *side.shape[-2:]) for side in (left, right)
    )
    products = [record.matmul(x, y, **arguments) for x, y in zip(lefts, rights, strict=True)]
    return np.stack(products).reshape(*leading, *products[0].shape)


def find_numerics(machine: Machine, numerics: Any) -> Any:
    """Return numerics given, those of the preset whose name is given, or those of a JSON file; None stays None.

    Raises
    ------
    ValueError : a name of no preset; FileError as `read_numerics`.
    """
    if isinstance(numerics, Path) or (isinstance(numerics, str) and numerics.endswith(".json")):
        return read_numerics(Path(numerics), machine.presets)
    if not isinstance(numerics, str):
        return numerics
    return machine.presets[check_choice("numerics", numerics, machine.presets)].numerics


def read_numerics(path: Path, presets: Mapping[str, Preset], base: Any = None, option: str = "numerics") -> Any:
    """Return the numerics of a JSON file: ``{"preset": "trainium3_quad_mx", "align_fraction_bits": 16}``.

    The file has some fields or all of a record; the others are those of its ``preset``, without which they are those of
    `base`, or of the first of `presets` with these fields. The configuration of a unit, which has a record ``numerics``, stands for that.

    Raises
    ------
    FileError : as `read_json`; an unknown preset, field or value.
    """
    fields = read_json(path, option)
    if not isinstance(fields, dict):
        raise FileError(f"{option}: {path} must hold an object of fields, not {type(fields).__name__}")
    if isinstance(fields.get("numerics"), dict):
        fields = fields["numerics"]
    name = fields.pop("preset", None)
    try:
        if name is not None:
            base = presets[check_choice("preset", name, presets)].numerics
        elif base is None:
            records = [each.numerics for each in presets.values()]
            base = next((each for each in records if fields.keys() <= to_dict(each).keys()), records[0])
        return from_dict(type(base), to_dict(base) | fields)
    except (TypeError, ValueError) as error:
        raise FileError(f"{option}: {path}: {error}") from None
