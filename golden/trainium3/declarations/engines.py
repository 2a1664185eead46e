"""ScalarE and VectorE: names that their instructions take, and the rules that no field switches.

Ref: "Trainium3 Architecture Guide for NKI", AWS Neuron documentation, 2026-08 (here ARCH3), those of Trainium2 (here ARCH2)
and Trainium1 (here ARCH1); ``nki.isa`` and ``nki.language`` reference pages, NKI 0.6 (here ISA, LANG), with "NKI ISA API
Common Fields" and its table of operators (``nki.api.shared``, here SHARED); release notes of NKI (here RN).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction

from bitpath.golden.formats.sources import choices, chosen, documented, inferred

BYPASS = "bypass"
"""The operation of activate2 that leaves the value as it is."""
ACTIVATE2_OPERATIONS = (
    ("multiply", "add"),
    ("multiply", "subtract"),
    ("multiply", BYPASS),
    ("add", BYPASS),
    ("subtract", BYPASS),
    (BYPASS, BYPASS),
)
"""Pairs (op0, op1) that activate2 takes. Ref: ISA activate2."""
ACTIVATE2_REDUCTIONS = ("add", "max", "min", "abs_max", "abs_min")
"""Reductions of activate2. Ref: ARCH3, ISA activate2."""
ACTIVATION_REDUCTIONS = ("add",)
"""Reductions of activation and activation_reduce. Ref: ARCH3, ISA activation; ISA activation_reduce says so of v2 alone."""
BN_STATS_ELEMENTS = 512
"""Most elements of a row of bn_stats. Ref: ISA bn_stats."""
MAX8_VALUES = 8
"""Values of max8, nc_find_index8 and nc_match_replace8."""
MAX8_ELEMENTS = 16384
"""Most elements of a row of theirs. Ref: ISA max8, nc_find_index8."""
SEED_INCREMENT = 0x9E3779B9
"""Distance of the numbers that set_rng_seed mixes, 2**32 over the golden ratio. Odd, so that 2**32 of them differ."""
SEED_ROUNDS = ((16, 0x85EBCA6B), (13, 0xC2B2AE35))
"""Shift and factor of the mix's two rounds. Ref: A. Appleby, MurmurHash3 (2011), its final mix."""
SEED_LAST_SHIFT = 16
"""Shift at the mix's end."""
RANGE_SELECT_COMPARISONS = ("equal", "less", "less_equal", "greater", "greater_equal")
"""Comparisons of range_select. Ref: ISA range_select."""
RANGE_SELECT_INDICES = 1 << 24
"""Magnitude that the indices of range_select stay below, so that FP32 holds them. Ref: ISA range_select."""

KEEPS_ZERO = ("tanh", "silu", "gelu", "gelu_apprx_tanh", "gelu_apprx_sigmoid", "erf", "mish", "sin", "arctan")
"""Functions of ScalarE that are 0 at 0: a zero keeps its sign."""
GROWING = ("silu", "gelu", "gelu_apprx_tanh", "gelu_apprx_sigmoid", "log", "softplus", "mish")
"""Functions of ScalarE without an upper bound: infinity at infinity."""
GELU_TANH_FACTOR = Fraction(44715, 10**6)
"""Factor a of gelu_apprx_tanh, x / 2 * (1 + tanh(sqrt(2 / pi) * (x + a * x**3)))."""
GELU_SIGMOID_FACTOR = Fraction(1702, 1000)
"""Factor a of gelu_apprx_sigmoid, x * sigmoid(a * x)."""


@dataclass(frozen=True, kw_only=True)
class ArgumentRange:
    """Arguments for which ScalarE's result is valid.

    Attributes
    ----------
    low, high : ends, both valid.
    of_magnitude : True if they are ends of the argument without its sign.
    """

    low: float = -math.inf
    high: float = math.inf
    of_magnitude: bool = False


_PI = 13176795 / 2**22
"""The FP32 number nearest to pi, which is above pi."""
ARGUMENT_RANGES: Mapping[str, ArgumentRange] = {
    **dict.fromkeys(
        (
            "copy", "square", "sigmoid", "relu", "prelu", "gelu", "gelu_dx", "gelu_apprx_tanh", "gelu_apprx_sigmoid",
            "gelu_apprx_sigmoid_dx", "silu", "silu_dx", "tanh", "softplus", "mish", "erf", "erf_dx", "exp", "sign", "abs",
        ),
        ArgumentRange(),
    ),
    "log": ArgumentRange(low=2.0**-64, high=2.0**64),
    "sin": ArgumentRange(low=-_PI, high=_PI),
    "arctan": ArgumentRange(low=-_PI / 2, high=_PI / 2),
    "sqrt": ArgumentRange(low=2.0**-116, high=2.0**118),
    "rsqrt": ArgumentRange(low=2.0**-87, high=2.0**97),
    "reciprocal": ArgumentRange(low=2.0**-42, high=2.0**42, of_magnitude=True),
}  # fmt: skip
"""Valid arguments of ScalarE's functions, after scale and bias; golden computes the function of any argument. Ref: SHARED."""


class ReduceCommand(Enum):
    """Commands of an instruction to the reduction registers."""

    IDLE = "idle"  # nothing
    RESET = "reset"  # sets them to the reduction's identity
    REDUCE = "reduce"  # reduces the row onto them
    RESET_REDUCE = "reset_reduce"  # sets them, then reduces the row onto them


CHOICES = choices(
    {
        "activate2 rounds each operation to FP32; bypass does not touch the value, so that -0 stays": chosen(
            "as activation; ISA states FP32 arithmetic"
        ),
        "activate2 reduces FP32 values before the cast, in the order of the row; add starts at +0 and rounds each sum": chosen(
            "ISA speaks of reducing the result and not of its rounding"
        ),
        "abs_max and abs_min return the operand with its sign, of equal magnitudes the new element": inferred(
            "LANG abs_max: y on a tie; that the accumulator is x is assumed"
        ),
        "Reading the reduction registers does not clear them": chosen("no document says"),
        "relu turns every number with a sign bit into +0; prelu multiplies it; sign gives +0 for both zeros; NaN stays": chosen(
            "ISA names the functions and does not describe edge cases"
        ),
        "Without a register a reduction starts from the first element; sums and products are serial": inferred(
            "ISA: the results of the instruction are reduced; the order is a guess"
        ),
        "VectorE's accumulators start from the identity, 0, 1, -inf or +inf: a sum of -0 alone is +0": documented(
            "ISA tensor_scalar_reduce, tensor_scalar_cumulative, select_reduce"
        ),
        "VectorE's accumulators hold FP32 and reduce FP32 values before the cast": chosen(
            "ISA reduces the result and does not say whether before or after its rounding"
        ),
        "tensor_tensor_scan and tensor_scalar_cumulative go on from the FP32 state, not from its cast": inferred(
            "ISA computes in FP32 and casts results; its pseudo code reads the result back"
        ),
        "tensor_scalar_cumulative's subtract takes the register from the value": documented("ISA, pseudo code"),
        "tensor_copy_predicated moves bits; a number is rounded to FP32, then cast": chosen(
            "ISA asks for one dtype and does not say how the number is converted"
        ),
        "select_reduce and range_select pass values through FP32 and cast them, so that NaN is canonical": inferred(
            "ISA range_select: FP32's minimum becomes -infinity on the cast down; select_reduce has dtypes of its own"
        ),
        "range_select selects where both comparisons of the FP32 index hold; a NaN bound selects nothing": inferred(
            "ISA range_select for the FP32 comparisons; IEEE 754 for NaN"
        ),
        "bn_stats: the mean is a serial sum times fp32(1 / n); then squared deviations are summed serially": chosen(
            "ISA bn_stats documents the results and FP32"
        ),
        "bn_stats gives 0 for count, mean and squares of a part without elements": chosen("no document says"),
        "bn_aggr adds n * mean and M2 + n * (mean - overall)**2 serially, and divides by the sum of counts": chosen(
            "ISA bn_aggr documents the results and FP32"
        ),
        "max8 gives NaN first, then numbers in descending order with +0 before -0": chosen(
            "ISA max8: descending in FP32; the order is that of eight maxima"
        ),
        "nc_find_index8 and nc_match_replace8 compare FP32 numbers: -0 equals +0, NaN equals nothing": chosen(
            "as the operator equal; no document says"
        ),
        "nc_find_index8: equal values take successive elements, an index without one is all ones": documented(
            "RN NKI 0.6, ISA nc_find_index8"
        ),
        "nc_match_replace8 goes from the last value to the first": documented("RN NKI 0.6, ISA nc_match_replace8"),
        "nc_match_replace8 gives all ones for a value without an element, and takes no element twice": chosen(
            "as nc_find_index8; ISA says neither"
        ),
        "rng takes the lowest bits of a number": documented("ISA rng"),
        "set_rng_seed makes all states from the seed, each word a mix of the seed and the word's number": chosen(
            "ISA set_rng_seed: the same seed gives the same numbers; how is not described"
        ),
        "dropout keeps an element, bit for bit, where rand2's number on [0, 1) is not below the probability": chosen(
            "ISA dropout: 1.0 drops all, 0.0 keeps all; the comparison is not described"
        ),
        "dropout writes +0 and rescales nothing": inferred("ISA dropout: elements are replaced with zeros"),
        "memset converts its number once; an integer beyond the dtype's range is an error": chosen(
            "RN NKI 0.3: the number's type must be the dtype's; ISA says no more"
        ),
        "GpSimd's power is correctly rounded, with IEEE 754's special cases; any x to the power of 0 is 1": chosen(
            "ISA tensor_tensor names the operator, not its accuracy"
        ),
        "VectorE's abs_max and abs_min have ScalarE's identities, 0 and +inf": chosen(
            "ISA has identities for four reductions"
        ),
        "VectorE's square, rsqrt and reciprocal are correctly rounded, and its relu is ScalarE's": chosen(
            "SHARED lists them as unary operators in FP32 and states no accuracy"
        ),
        "ScalarE's functions other than exp give the FP32 number nearest to the mathematical function, ties to even": chosen(
            "SHARED: piecewise polynomials, whose coefficients are not public"
        ),
        "They have their limits at infinities, a zero with the sign of the values that approach it; sin gives NaN": chosen(
            "IEEE 754-2019, 9.2.1; no document says"
        ),
        "log of both zeros is -infinity, of negative numbers NaN": chosen("IEEE 754-2019, 9.2.1; no document says"),
        "gelu_apprx_tanh is x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x**3))) with the real numbers": chosen(
            "Hendrycks and Gimpel's approximation; ISA names the function and gives no constants"
        ),
        "gelu is x / 2 * (1 + erf(x / sqrt(2))); gelu_apprx_sigmoid is x * sigmoid(1.702 * x); the _dx are derivatives": chosen(
            "the definitions in use; LANG names the functions and gives no formulas"
        ),
        "Outside its valid range a function's result is the mathematical one: sin does not extrapolate its cubic": chosen(
            "SHARED calls the results invalid, and gives one of them, sin(9.0) of about 27.65"
        ),
        "The valid ranges of sin and arctan end at the FP32 numbers nearest to pi and pi/2": chosen(
            "SHARED writes PI, whose nearest FP32 number is above pi"
        ),
        "activation without a bias adds nothing, so that -0 stays; a bias of +0 is added": inferred(
            "ISA activation: the bias is optional"
        ),
        "Comparisons and logical operators give 1.0 or 0.0; NaN compares false, unequal true, and counts as true": chosen(
            "IEEE 754 comparisons; no document says"
        ),
        "Bit operators take integers of one size on VectorE, and cast nothing": documented("ISA tensor_tensor, LANG"),
        "A shift by the size or more gives 0; the count is read without sign": chosen("no document says"),
        "tensor_tensor of INT32 or UINT32 on GpSimd adds, subtracts and multiplies exactly, modulo 2**32": inferred(
            "ISA tensor_tensor: exact on GpSimd, FP32 on VectorE; the wrap-around is a guess"
        ),
        "tensor_copy and tensor_scalar give the same bits on ScalarE, VectorE and GpSimd": inferred(
            "ISA: the engine is a choice of time; ARCH3: ScalarE runs them natively"
        ),
        "rand2 casts its FP32 number to the dtype of the result, so that both ends of an integer range count half": chosen(
            "ISA rand2: FP32, then the conversion"
        ),
    }
)
"""Rules that no field switches; `bitpath numerics` lists them behind the presets."""
