"""Formats from stage to stage: the kernel library's names, what Dst holds, and the intermediate formats that may follow."""

from bitpath.golden.tensix.declarations.formats import EXPONENT5_FORMATS, Format, Style

LLK_NAMES = {
    "Float32": "FP32",
    "Tf32": "TF32",
    "Float16_b": "BF16",
    "Float16": "FP16",
    "Bfp8_b": "BFP8",
    "Bfp4_b": "BFP4",
    "Bfp2_b": "BFP2",
    "Bfp8": "BFP8A",
    "Bfp4": "BFP4A",
    "Bfp2": "BFP2A",
    "Lf8": "FP8",
    "Int32": "INT32",
    "Int16": "INT16",
    "Int8": "INT8",
}
"""Names of `Format` by those of the kernel library's tests."""
MID_FORMATS = {
    Format.FP32: (Format.FP32, Format.TF32, Format.BF16, Format.BFP8, Format.INT16),
    Format.INT32: (Format.INT32, Format.INT8),
    Format.BF16: (Format.BF16, Format.TF32, Format.BFP8),
    Format.FP16: (Format.FP16, Format.BFP8A),
    Format.INT16: (Format.INT16,),
}
"""Intermediate formats by what Dst holds."""
ROUND_10B_MIDS = (Format.FP16,)
"""Further ones with Round_10b, from FP32 and BF16."""
MID_CARRIERS = {
    Format.FP32: Format.FP32,
    Format.TF32: Format.FP32,
    Format.BF16: Format.BF16,
    Format.BFP8: Format.BF16,
    Format.FP16: Format.FP16,
    Format.BFP8A: Format.FP16,
    Format.INT32: Format.INT32,
    Format.INT16: Format.INT16,
    Format.INT8: Format.INT8,
}
"""L1 formats that hold every bit of an intermediate format."""


def style_of(register: Format) -> Style:
    """Return the style in which the Matrix unit reads sources of a format."""
    if register is Format.INT8:
        return Style.INT8
    if register is Format.TF32:
        return Style.TF32
    return Style.FP16 if register in EXPONENT5_FORMATS else Style.BF16


def dst_format(register: Format, *, dst32: bool) -> Format:
    """Return the format of Dst's words."""
    if register in (Format.INT8, Format.INT32):
        return Format.INT32
    if register is Format.INT16:
        return Format.INT16
    if dst32:
        return Format.FP32
    return Format.FP16 if style_of(register) is Style.FP16 else Format.BF16
