"""Products and layers of all machines and formats, on all kinds of arrays."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bitpath.golden import trainium3
from bitpath.golden.arrays.arguments import (
    as_numpy,
    check_broadcast,
    check_choice,
    checked,
    numbers,
    one_of,
    operand,
)
from bitpath.golden.arrays.files import FileError, read_json
from bitpath.golden.arrays.parallel import Progress
from bitpath.golden.formats.records import from_dict, to_dict
from bitpath.golden.formats.sources import Preset
from bitpath.golden.machines import Machine, find_machine


@dataclass(frozen=True, kw_only=True, eq=False)
class Prepared:
    """A right operand that `prepare` has converted, for any number of products.

    Attributes
    ----------
    machine, format : their names.
    shape : shape of the operand, [..., K, N].
    data : what the machine's own `prepare` gives of [B, K, N], the leading axes as one.
    """

    machine: str
    format: str
    shape: tuple[int, ...]
    data: Any


@checked
def prepare(b: Any, *, format: str, machine: str | None = None, numerics: Any = None, **options: Any) -> Prepared:
    """Convert the right operand [..., K, N] of `matmul` once, such as a layer's weights.

    Parameters
    ----------
    b, format, machine, numerics, options : as `matmul` takes them.

    Returns
    -------
    What `matmul` takes as its `b`, with the same bits as the operand itself.

    Raises
    ------
    TypeError, ValueError : as `matmul`.
    """
    record, arguments = find_arguments(machine, format, numerics, options)
    right = operand("b", b, format in record.integers)
    data = record.prepare(np.ascontiguousarray(right.reshape(-1, *right.shape[-2:])), **arguments)
    return Prepared(machine=record.name, format=format, shape=right.shape, data=data)


@checked
def matmul(
    a: Any,
    b: Any,
    *,
    format: str | None = None,
    machine: str | None = None,
    numerics: Any = None,
    progress: Progress | None = None,
    **options: Any,
) -> np.ndarray:
    """Multiply [..., M, K] @ [..., K, N] with the bits of a machine.

    Parameters
    ----------
    a, b : arrays of floats or integers, lists, or objects with `__array__` or `__dlpack__`. float64 is rounded to float32;
        the machine's own conversion to the format follows. Leading axes broadcast, and a vector is a row or a column, as numpy's
        do. `b` may be what `prepare` returns; then it alone says format, machine, numerics and options.
    format : trainium3's "mxfp8_e4m3", "mxfp8_e5m2", "mxfp4" (weights; activations are mxfp8_e4m3), "tf32", "fp32",
        "fp8_double_row", "sparse_4_16", "sparse_4_12", "sparse_4_8", "sparse_2_8", "sparse_2_4", "sparse_1_4", "sparse_1_2",
        and "bf16", "fp16" with `machine`; tensix's "bf16", "tf32", "fp16", "fp8", "bfp8", "bfp4", "bfp2" or "int8", followed by
        "_lofi", "_hifi2", "_hifi3" or "_hifi4", "int8_descaled", and "int8" with `machine`; aie_ml_v2's "mx9", "mx6", "mx4",
        "bfp16ebs8" (of XDNA2), "bf16", "fp16", "fp8_e4m3", "fp8_e4m3fn", "fp8_e4m3fnuz", "fp8_e5m2", "fp8_e5m2fnuz", "int8",
        "int16", "int16_64", "int32x16".
    machine : "trainium3", "tensix" or "aie_ml_v2"; None is the machine that has the format.
    numerics : the machine's numerics, a preset's name, or a JSON file as `read_numerics` takes it; None is the machine's default.
    progress : is told the number of finished parts and of all.
    options : further arguments of the machine's own `matmul`. trainium3 has `scale_rule`, "ocp" of programs before NKI 0.5 or
        "nki05" from it on, and `k_order`: in a tile of 512 along K, "interleaved" gives one scale to k = p to p + 7 and the
        same + 128, + 256 and + 384, "adjacent" to 32 neighbours, as checkpoints and other tools have them. tensix has `dst32`,
        `chip` and `quirk`; "int8_descaled" has `descale_shift`; aie_ml_v2 has `rounding` and `sparse`.

    Returns
    -------
    float32 [..., M, N]; for formats of integers int32 (tensix) or int64 (aie_ml_v2).

    Raises
    ------
    TypeError, ValueError : operands, names or options that the machine does not take.
    """
    if isinstance(b, Prepared):
        given = {"format": format not in (None, b.format), "machine": machine not in (None, b.machine)}
        given |= {"numerics": numerics is not None, **dict.fromkeys(options, True)}
        for name in (name for name, other in given.items() if other):
            raise ValueError(f"{name} must not be given with a prepared b, which has been converted to {b.format}")
        record = find_machine(b.machine, b.format)
    elif format is None:
        raise TypeError("format must be given, unless b is prepared")
    else:
        record = find_machine(machine, format)
    a, right = as_numpy("a", a), b if isinstance(b, Prepared) else as_numpy("b", b)
    row, column = a.ndim == 1, len(right.shape) == 1
    left = operand("a", a[np.newaxis] if row else a, (format or b.format) in record.integers)
    if not isinstance(right, Prepared):
        own = right[:, np.newaxis] if column else right
        right = prepare(own, format=format, machine=machine, numerics=numerics, **options)
    product = _product(record, left, right, progress)
    return product.squeeze(axis=(-1,) * column + (-2,) * row)


def _product(record: Machine, left: np.ndarray, right: Prepared, progress: Progress | None) -> np.ndarray:
    *batch, depth, columns = right.shape
    if left.shape[-1] != depth:
        raise ValueError(f"b must have {left.shape[-1]} rows, as many as a has columns, not {depth}")
    shared = check_broadcast(a=left.shape[:-2], b=tuple(batch))
    batch = [1] * (len(shared) - len(batch)) + batch
    # A row of a product depends on its own row of `a` alone, so that axes along which `b` stays the same have rows too.
    order = sorted(range(len(shared)), key=lambda axis: batch[axis] == 1)
    moved = np.broadcast_to(left, (*shared, *left.shape[-2:])).transpose(*order, -2, -1)
    lefts = np.ascontiguousarray(moved.reshape(math.prod(batch), -1, depth))
    product = record.multiply(lefts, right.data, progress=progress).reshape(*moved.shape[:-1], columns)
    return product.transpose(*np.argsort(order), -2, -1)


def linear_w8a8(x: Any, w: Any, *, gamma: Any = None, **options: Any) -> np.ndarray:
    """Compute a linear layer of Trainium3 in FP8, with a scale for each row and each output channel.

    Rows are quantised by RMSNorm-Quant, multiplied by weights in FP8 with sums in FP32, and dequantised.

    Parameters
    ----------
    x, w, gamma : numbers [..., K], [K, N] and [K], of any kind that `matmul` takes; `w` may be what `trainium3.prepare_w8a8` returns.
        Without gamma rows are quantised as they are, else normalised first.
    options : as `trainium3.linear_w8a8` takes them, such as `eps`, `dtype_mode`, `double_row` and `dtype`.

    Returns
    -------
    [..., N] of bfloat16, or of float32 with `dtype`.

    Raises
    ------
    TypeError, ValueError : as `trainium3.linear_w8a8`.

    Ref: "RMSNorm-Quant Kernel Design Specification", AWS Neuron documentation, 2025-12-02.
    """
    weights = w if isinstance(w, trainium3.PreparedW8A8) else operand("w", w, False)
    scale = None if gamma is None else numbers("gamma", gamma).astype(np.float32)
    return trainium3.linear_w8a8(operand("x", x, False), weights, gamma=scale, **options)


def find_arguments(
    machine: str | None, format: str, numerics: Any, options: Mapping[str, Any]
) -> tuple[Machine, dict[str, Any]]:
    """Return the machine of a format, and the arguments of its own functions that format, numerics and options stand for.

    Raises
    ------
    TypeError, ValueError : as `find_machine` and `find_numerics`; an option that the machine does not take.
    """
    record = find_machine(machine, format)
    for name in options.keys() - {*record.options}:
        raise TypeError(f"options of {record.name} must be {one_of(record.options)}, not {name!r}")
    return record, {**record.formats[format], "numerics": find_numerics(record, numerics), **options}


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
