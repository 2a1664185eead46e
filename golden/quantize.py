"""Numbers in a machine's format, and back: the conversions of `matmul` by themselves."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from bitpath.golden.arrays.arguments import (
    check_array,
    check_choice,
    check_instance,
    check_matrix,
    check_shape,
    checked,
    member,
    operand,
)
from bitpath.golden.arrays.codec import DTYPES, codes_of, decode_array, format_of
from bitpath.golden.formats.catalogue import BF16, E2M1, E4M3FN, E5M2, E8M0, MX_FORMATS
from bitpath.golden.machines import find_conversion
from bitpath.golden.matmul import find_numerics
from bitpath.golden.scalar.checked import as_numpy
from bitpath.golden.trainium3.declarations.quad_mx import SCALE_PARTITIONS, X4, ScaleRule
from bitpath.golden.trainium3.operands import fp32
from bitpath.golden.trainium3.operands.quantize_mx import quantize_blocks


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
    k_order : of trainium3, how k lies on partitions; None of other machines, or the default.
    """

    machine: str
    format: str
    shape: tuple[int, ...]
    data: Any
    numerics: Any = None
    k_order: str | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class MxTensor:
    """Numbers of an OCP MX format in the layout of checkpoints: ``element * 2**(scale - 127)``, a scale for 32 neighbours along K.

    Attributes
    ----------
    elements : float8_e4m3fn or float8_e5m2 [..., K]; of FP4 uint8 [..., K/2], the first of two codes in the low half of the byte.
    scales : uint8 [..., K/32], E8M0; float8_e8m0fnu of ml_dtypes is taken too.

    Raises
    ------
    TypeError, ValueError : other dtypes or shapes.

    Ref: OCP Microscaling Formats (MX) 1.0; torchao's ``MXTensor`` holds the same two arrays.
    """

    elements: np.ndarray
    scales: np.ndarray

    def __post_init__(self) -> None:
        check_array("elements", self.elements, *(DTYPES[fmt] for fmt in (E4M3FN, E5M2)), np.uint8)
        check_array("scales", self.scales, DTYPES[E8M0], np.uint8)
        check_shape("elements", self.elements, "...", "K")
        check_shape("scales", self.scales, *self.shape[:-1], self.shape[-1] // MX_BLOCK, why=" for these elements")
        if self.shape[-1] % MX_BLOCK:
            raise ValueError(f"elements must have a multiple of {MX_BLOCK} along K, not {self.shape[-1]}")

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the numbers, [..., K]."""
        *leading, last = self.elements.shape
        return (*leading, last * (2 if self.elements.dtype == np.uint8 else 1))


MX_BLOCK = SCALE_PARTITIONS * X4
"""Elements that share a scale."""


def _as_mx_tensor(rows: np.ndarray, shape: tuple[int, ...], format: str, scale_rule: str = "ocp") -> MxTensor:
    element = MX_FORMATS[check_choice("format with layout 'ocp'", format, MX_FORMATS)].element
    if shape[-1] % MX_BLOCK:
        raise ValueError(f"x must have a multiple of {MX_BLOCK} numbers along K with layout 'ocp', not {shape[-1]}")
    check_matrix("x", rows, no_nan=f"{DTYPES[element]} cannot express" if element.nan_code is None else "")
    # Four neighbours are a partition's word.
    words = rows.reshape(len(rows), -1, X4).swapaxes(0, 1)
    partitions = fp32.write(words, DTYPES[BF16]).reshape(words.shape[0], -1)
    codes, scales = quantize_blocks(partitions, element, member("scale_rule", scale_rule, ScaleRule))
    found = np.ascontiguousarray(codes.reshape(words.shape).swapaxes(0, 1)).reshape(shape)
    found = found[..., ::2] | found[..., 1::2] << 4 if element is E2M1 else found.view(DTYPES[element])
    return MxTensor(elements=found, scales=np.ascontiguousarray(scales.T).reshape(*shape[:-1], -1))


def _from_mx_tensor(tensor: MxTensor) -> np.ndarray:
    if tensor.elements.dtype == np.uint8:
        halves = np.stack([tensor.elements & 0xF, tensor.elements >> 4], axis=-1).reshape(tensor.shape)
        values = decode_array(E2M1, halves)
    else:
        values = decode_array(format_of(tensor.elements.dtype), codes_of(tensor.elements))
    scales = decode_array(E8M0, tensor.scales.view(np.uint8))
    with np.errstate(over="ignore"):
        return (values * scales.repeat(MX_BLOCK, axis=-1)).astype(np.float32)


@checked
def quantize(
    x: Any, format: str, *, machine: str | None = None, numerics: Any = None, layout: str = "machine", **options: Any
) -> Quantized | MxTensor:
    """Convert numbers [..., K] to a machine's format, with the bits of the left operand of `matmul`.

    Each element is a code times the scale of its block, of ``E`` the block's largest exponent::

        trainium3     code * 2**(E - emax)        32 elements a block, from bfloat16, to nearest even
        tensix        code * 2**E                 16 elements a block of bfp8, bfp4 and bfp2; 32 of Quasar's formats
        aie_ml_v2     code * 2**(E - shift)       16 elements a block, shifts of pairs; 8 of bfp16ebs8, without shifts
        floats        code

    Parameters
    ----------
    x : floats or integers of one axis or more, of any kind that `matmul` takes. float64 is rounded to float32 first.
    format : a format of `matmul` other than integers and TensorE's modes, or of Quasar: "MXFP8R", "MXFP8P", "MXFP6R", "MXFP6P", "MXFP4", "MXINT8",
        "MXINT4", "MXINT2". A fidelity in the name changes nothing; "mxfp4" stands for its weights.
    machine : as `matmul` takes it.
    numerics : of tensix or aie_ml_v2: the machine's numerics, or a preset's name; None is the machine's default.
    layout : "machine"; or "ocp", of the MX formats of trainium3, with its conversion but scales of 32 neighbours along K.
    options : of trainium3 `scale_rule` and `k_order`, of aie_ml_v2 `rounding`, of Quasar's formats `scale_rule` and `exp_rnd`,
        as the machine's own functions take them.

    Returns
    -------
    The codes, which `dequantize` reads; an `MxTensor` with layout "ocp".

    Raises
    ------
    TypeError, ValueError : another dtype, name or option; no numbers; NaN where the machine has none.

    Ref: ``nki.isa.quantize_mx``; tt-isa-documentation, the packer's formats; amd-quark's MX formats; OCP MX 1.0.
    """
    record, conversion = find_conversion(machine, format)
    array = as_numpy("x", x)
    array = operand("x", array.reshape(1, -1) if array.ndim == 1 else array, integers=False)
    shape = array.shape[1:] if np.ndim(x) == 1 else array.shape
    rows = np.ascontiguousarray(array.reshape(-1, array.shape[-1]))
    if check_choice("layout", layout, ("machine", "ocp")) == "ocp":
        for name in (*(["numerics"] if numerics is not None else []), *(options.keys() - {"scale_rule"})):
            raise ValueError(f"options with layout 'ocp' must be scale_rule, not {name!r}")
        return _as_mx_tensor(rows, shape, format, **options)
    found = find_numerics(record, numerics)
    given = options if found is None else {"numerics": found, **options}
    data = conversion.quantize(rows, **given)
    return Quantized(
        machine=record.name, format=format, shape=shape, data=data, numerics=found, k_order=options.get("k_order")
    )


@checked
def dequantize(quantized: Quantized | MxTensor) -> np.ndarray:
    """Return the numbers that a machine reads from codes, exactly: float32 of the shape that `quantize` took.

    Tensix reads a denormal as zero; Trainium3 and AIE-ML v2 read every code. An `MxTensor` may come from anywhere; a number beyond
    float32 is an infinity.

    Raises
    ------
    TypeError : another value than what `quantize` returns.
    """
    if isinstance(quantized, MxTensor):
        return _from_mx_tensor(quantized)
    check_instance("quantized", quantized, Quantized)
    _, conversion = find_conversion(quantized.machine, quantized.format)
    rows = int(np.prod(quantized.shape[:-1])), quantized.shape[-1]
    given = {"numerics": quantized.numerics, "k_order": quantized.k_order}
    given = {name: each for name, each in given.items() if each is not None}
    return conversion.dequantize(quantized.data, rows, **given).reshape(quantized.shape)
