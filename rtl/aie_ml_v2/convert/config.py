"""Configurations of the conversion units."""

from dataclasses import dataclass

from bitpath.golden.aie_ml_v2.declarations.numerics import AIE_ML_V2, XDNA2_BFP16EBS8, AieNumerics
from bitpath.rtl.aie_ml_v2.convert.layouts import Blocks


@dataclass(frozen=True, kw_only=True)
class MxConvertConfig:
    """Configuration of the conversion from FP32 to MX or bfp16ebs8.

    Attributes
    ----------
    numerics : choices where the documents leave the result open.
    blocks : the blocks that the unit makes; hardware that they do not need is left out.
    """

    numerics: AieNumerics = AIE_ML_V2.numerics
    blocks: Blocks = Blocks.MX


BFP16EBS8_CONVERT = MxConvertConfig(numerics=XDNA2_BFP16EBS8.numerics, blocks=Blocks.BFP16EBS8)
"""XDNA2's conversion to bfp16ebs8."""
