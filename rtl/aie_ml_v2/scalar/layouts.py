"""Layouts of requests and results of the scalar functions."""

from amaranth.lib import data, enum

from bitpath.golden.aie_ml_v2.declarations.scalar import ScalarFunction
from bitpath.golden.formats.catalogue import FP32
from bitpath.rtl.aie_ml_v2.floats.layouts import SHIFT, TO_FIX_FLAGS, TO_FLOAT_FLAGS


class FunctionCode(enum.Enum, shape=2):
    """Codes of the functions."""

    INV = 0
    SQRT = 1
    INVSQRT = 2

    @classmethod
    def of(cls, function: ScalarFunction) -> "FunctionCode":
        """Return the code of a declared function."""
        return cls[function.name]


class FunctionControl(data.Struct):
    """Function; whether operand and result are integers, and their fraction bits if they are."""

    op: FunctionCode
    fix_in: 1
    fix_out: 1
    shift_in: SHIFT
    shift_out: SHIFT


class FunctionRequest(data.Struct):
    """Operand, FP32 or an integer, and control."""

    x: FP32.width
    control: FunctionControl


class FunctionFlags(data.Struct):
    """Flags of the function: its result is a zero, infinite, NaN, below the normal numbers, beyond the largest, not exact."""

    zero: 1
    infinity: 1
    invalid: 1
    tiny: 1
    huge: 1
    inexact: 1


class FunctionResult(data.Struct):
    """Result, FP32 or an integer, with the flags of the function, and of the conversions that the control asked for."""

    y: FP32.width
    flags: FunctionFlags
    to_float: TO_FLOAT_FLAGS
    to_fix: TO_FIX_FLAGS
