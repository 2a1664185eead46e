"""Numbers in a machine's format, and back: the conversions of `matmul` by themselves."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from bitpath.golden.arrays.arguments import checked, operand
from bitpath.golden.machines import find_conversion
from bitpath.golden.matmul import find_numerics
from bitpath.golden.scalar.checked import as_numpy


@dataclass(frozen=True, kw_only=True, eq=False)
class Quantized:
    """Numbers that `quantize` has converted.

    Attributes
    ----------
    machine, format : their names.
    shape : shape of the numbers, [..., K].
    data : what the machine's own functions give. trainium3: for each 512 places of K, elements [P, R, 4] and scales [P/8, R]
        of the R rows, as `quantize_mx` has them; tensix: bytes in L1, uint8; aie_ml_v2: `MxBlocks`, or floats of ml_dtypes.
        K is padded with zeros to whole blocks or tiles.
    numerics : the machine's numerics; None is the machine's default.
    """

    machine: str
    format: str
    shape: tuple[int, ...]
    data: Any
    numerics: Any = None


@checked
def quantize(x: Any, format: str, *, machine: str | None = None, numerics: Any = None, **options: Any) -> Quantized:
    """Convert numbers [..., K] to a machine's format, with the bits of the left operand of `matmul`.

    Each element is a code times the scale of its block, of ``E`` the block's largest exponent::

        trainium3     code * 2**(E - emax)        32 elements a block, from bfloat16, to nearest even
        tensix        code * 2**E                 16 elements a block of bfp8, bfp4 and bfp2; 32 of Quasar's formats
        aie_ml_v2     code * 2**(E - shift)       16 elements a block, shifts of pairs; 8 of bfp16ebs8, without shifts
        floats        code

    Parameters
    ----------
    x : floats or integers of one axis or more, of any kind that `matmul` takes. float64 is rounded to float32 first.
    format : a format of `matmul` other than integers, or of Quasar: "MXFP8R", "MXFP8P", "MXFP6R", "MXFP6P", "MXFP4", "MXINT8",
        "MXINT4", "MXINT2". A fidelity in the name changes nothing; "mxfp4" stands for its weights.
    machine : as `matmul` takes it.
    numerics : of tensix or aie_ml_v2: the machine's numerics, or a preset's name; None is the machine's default.
    options : of trainium3 `scale_rule`, of aie_ml_v2 `rounding`, of Quasar's formats `scale_rule` and `exp_rnd`,
        as the machine's own functions take them.

    Returns
    -------
    The codes, which `dequantize` reads.

    Raises
    ------
    TypeError, ValueError : another dtype, name or option; no numbers; NaN where the machine has none.

    Ref: ``nki.isa.quantize_mx``; tt-isa-documentation, the packer's formats; amd-quark's MX formats; OCP MX 1.0.
    """
    record, conversion = find_conversion(machine, format)
    array = as_numpy("x", x)
    array = operand("x", array.reshape(1, -1) if array.ndim == 1 else array, integers=False)
    shape = array.shape[1:] if np.ndim(x) == 1 else array.shape
    found = find_numerics(record, numerics)
    given = options if found is None else {"numerics": found, **options}
    data = conversion.quantize(np.ascontiguousarray(array.reshape(-1, array.shape[-1])), **given)
    return Quantized(machine=record.name, format=format, shape=shape, data=data, numerics=found)


@checked
def dequantize(quantized: Quantized) -> np.ndarray:
    """Return the numbers that a machine reads from codes, exactly: float32 of the shape that `quantize` took.

    Tensix reads a denormal as zero; Trainium3 and AIE-ML v2 read every code.

    Raises
    ------
    TypeError : another value than what `quantize` returns.
    """
    _, conversion = find_conversion(quantized.machine, quantized.format)
    rows = int(np.prod(quantized.shape[:-1])), quantized.shape[-1]
    given = {} if quantized.numerics is None else {"numerics": quantized.numerics}
    return conversion.dequantize(quantized.data, rows, **given).reshape(quantized.shape)
