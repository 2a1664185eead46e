"""Flags of operations on arrays.

Results are bit-identical to `bitpath.golden.aie_ml_v2.exact.conversions` on every lane.

Ref: AM029, SR1; points that it leaves open are in `bitpath.golden.aie_ml_v2.declarations.choices.CHOICES`.
"""

from collections.abc import Callable, Mapping
from functools import partial
from inspect import signature
from typing import Any

import numpy as np

from bitpath.golden.aie_ml_v2.convert.floats import f32_to_bf16, f32_to_fp8, f32_to_fp16
from bitpath.golden.aie_ml_v2.convert.integers import srs, ups
from bitpath.golden.aie_ml_v2.convert.mx import to_mx
from bitpath.golden.aie_ml_v2.declarations.codes import Flags, RoundingCode
from bitpath.golden.aie_ml_v2.mac.fused_dot import fused_dot, lane_sums
from bitpath.golden.aie_ml_v2.mac.widen import bf16_to_int32
from bitpath.golden.aie_ml_v2.operands.arguments import numerics_or_default
from bitpath.golden.arrays.arguments import checked, member, one_of
from bitpath.golden.arrays.codec import decode_array, format_of
from bitpath.golden.arrays.fp32 import shift_round
from bitpath.golden.formats.catalogue import BF16, FP16, FloatFormat
from bitpath.golden.scalar.checked import today

Lanes = dict[str, np.ndarray]
"""Flags by name, bool arrays of the result's lanes; a missing one is False."""
Given = Mapping[str, Any]
"""Arguments of a call by name."""


@checked
def with_flags(function: Callable[..., Any], *args: Any, **options: Any) -> tuple[Any, Flags]:
    """Call an operation, and return its result and its flags.

    Parameters
    ----------
    function : `fused_dot`, `f32_to_bf16`, `f32_to_fp16`, `f32_to_fp8`, `bf16_to_int32`, `to_mx`, `srs` or `ups`.
    args, options : its arguments.

    Flags are the OR over all lanes. Floats have zero, infinity, invalid, tiny and huge, integers from BF16 the same without
    infinity, `to_mx` has invalid, `srs` and `ups` have overflow; the other flags are False. Masks are not applied.

    Raises
    ------
    TypeError, ValueError : another function, or arguments that it does not take.
    """
    result, lanes = with_lane_flags(function, *args, **options)
    return result, Flags(**{name: bool(np.any(each)) for name, each in lanes.items()})


def with_lane_flags(function: Callable[..., Any], *args: Any, **options: Any) -> tuple[Any, Lanes]:
    """As `with_flags`, with the flags of each lane."""
    of_function = _FLAGS.get(function)
    if of_function is None:
        names = one_of(each.__name__ for each in _FLAGS)
        raise ValueError(f"function must be {names}, not {getattr(function, '__name__', 'another')}")
    try:
        call = signature(function).bind(*args, **today(options, signature(function).parameters))
    except TypeError as error:
        raise TypeError(f"arguments must be those of {function.__name__}: {error}") from None
    call.apply_defaults()
    result = function(*args, **options)
    return result, of_function(result, call.arguments)


def _dot(result: np.ndarray, given: Given) -> Lanes:
    numerics = numerics_or_default(given["numerics"], given["format"])
    acc1 = None if given["zero_acc1"] else given["acc1"]
    sums = lane_sums(
        numerics,
        given["a"],
        given["b"],
        (acc1, given["negate_acc1"]),
        (given["acc2"], given["negate_acc2"]),
        fmt=given["format"],
        negate=given["negate_products"],
    )
    infinite, zero = np.isinf(result), result == 0
    return {
        "zero": zero,
        "infinity": infinite,
        "invalid": np.isnan(result),
        # A sum that is no exact 0 becomes 0 where it is flushed.
        "tiny": zero & (sums.total != 0),
        "huge": infinite & ~(sums.positive | sums.negative),
    }


def _narrow(fmt: FloatFormat | None, result: np.ndarray, given: Given) -> Lanes:
    """Flags of a conversion; without a format, to the 8-bit one of its dtype."""
    fmt = format_of(np.dtype(given["dtype"])) if fmt is None else fmt
    bits, shift = given["bits"], given.get("shift", 0)
    # The compiler is loaded with the first call.
    from bitpath.golden.aie_ml_v2.convert import narrow_loop

    def scaled(places: int) -> np.ndarray:
        """Return codes, without sign, of the numbers times ``2**places``; the largest one for what lies beyond."""
        beyond = (fmt.max_code, fmt.max_code)
        codes = narrow_loop.narrow(
            bits, fmt, member("rounding", given["rounding"], RoundingCode), beyond, int(shift) + places
        )
        return np.asarray(codes & ~np.uint16(fmt.sign_mask))

    numbers, values = bits.view(np.float32), decode_array(fmt, result)
    finite, binade = np.isfinite(numbers), 1 << fmt.fraction_bits
    return {
        "zero": values == 0,
        "infinity": np.isinf(values),
        "invalid": np.isnan(numbers),
        # Twice the number has the precision of a normal one where the number may round up to the smallest of these.
        "tiny": finite & (numbers != 0) & (scaled(1) < 2 * binade),
        # Half of it is in the range where the number rounds to the next above the largest.
        "huge": finite & (scaled(-1) > fmt.max_code - binade),
    }


def _floor(result: np.ndarray, given: Given) -> Lanes:
    # float64 holds the numbers exactly; rounding down leaves none of them in the range that was not, nor the reverse.
    numbers = np.ldexp(decode_array(BF16, given["bits"]), int(given["shift"]))
    zero = result == 0
    return {
        "zero": zero,
        "invalid": np.isnan(numbers),
        "tiny": zero & (numbers != 0),
        "huge": (numbers < -(2.0**31)) | (numbers >= 2.0**31),
    }


def _to_mx(_: Any, given: Given) -> Lanes:
    return {"invalid": np.isnan(given["x"])}


def _srs(result: np.ndarray, given: Given) -> Lanes:
    acc, shift = given["acc"].astype(np.int64), int(given["shift"])
    if shift >= 0:
        return {"overflow": result != shift_round(acc, shift, member("rounding", given["rounding"], RoundingCode).mode)}
    return {"overflow": _differs(result, acc, -shift)}


def _ups(result: np.ndarray, given: Given) -> Lanes:
    return {"overflow": _differs(result, given["x"].astype(np.int64), int(given["shift"]))}


def _differs(result: np.ndarray, x: np.ndarray, shift: int) -> np.ndarray:
    """Return True where int64 results are not ``x * 2**shift``, which int64 may not hold."""
    back = result >> shift
    return np.asarray((back != x) | (back << shift != result))


_FLAGS: dict[Callable[..., Any], Callable[[Any, Given], Lanes]] = {
    fused_dot: _dot,
    f32_to_bf16: partial(_narrow, BF16),
    f32_to_fp16: partial(_narrow, FP16),
    f32_to_fp8: partial(_narrow, None),
    bf16_to_int32: _floor,
    to_mx: _to_mx,
    srs: _srs,
    ups: _ups,
}
