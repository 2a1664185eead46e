"""Checks of AIE-ML v2's arguments: numerics and MX formats."""

from bitpath.golden.aie_ml_v2.declarations.codes import MX_FORMATS, MxFormat
from bitpath.golden.aie_ml_v2.declarations.numerics import AIE_ML_V2, AieNumerics
from bitpath.golden.arrays.arguments import check_choice, numerics_of


def numerics_or_default(numerics: AieNumerics | None) -> AieNumerics:
    """Return the numerics given, those of the reference for None."""
    return numerics_of(numerics, AIE_ML_V2)


def mx_format(value: MxFormat | str) -> MxFormat:
    """Return an MX format given by itself or by name."""
    return value if isinstance(value, MxFormat) else MX_FORMATS[check_choice("fmt", value, MX_FORMATS)]
