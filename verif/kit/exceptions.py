"""Differences between a result and golden's that a user names, and that a run then counts and passes over."""

import json
import os
from collections.abc import Callable, Mapping, Sequence

from simpleeval import simple_eval

from bitpath.golden.formats.catalogue import FloatFormat
from bitpath.verif.kit.mismatches import Difference

EXCEPT = "BITPATH_EXCEPT"
"""Environment variable with the names and expressions as a JSON list."""


def _zero_sign(fmt: FloatFormat, got: int, expected: int) -> bool:
    return (got | expected) & ~fmt.sign_mask == 0


def _nan_code(fmt: FloatFormat, got: int, expected: int) -> bool:
    return all(_is_nan(fmt, code) for code in (got, expected))


def _flushed(fmt: FloatFormat, got: int, expected: int) -> bool:
    return got & ~fmt.sign_mask == 0 and 0 < expected & ~fmt.sign_mask <= fmt.fraction_mask


def _is_nan(fmt: FloatFormat, code: int) -> bool:
    return code == fmt.nan_code or code & ~fmt.sign_mask > (fmt.infinity_code or fmt.max_code)


NAMED: Mapping[str, Callable[[FloatFormat, int, int], bool]] = {
    "zero-sign": _zero_sign,
    "nan-code": _nan_code,
    "flushed": _flushed,
}
"""Differences with a name: zeros of two signs; two codes of NaN; a zero where a subnormal is expected."""
WORDS = ("got", "expected", "distance")
"""Names in an expression besides those of the operands; ``distance`` is that of two codes of one sign."""


def check(given: Sequence[str], operands: Sequence[str]) -> None:
    """Raise ValueError unless every exception has a name, or is an expression over these operands and `WORDS`."""
    for text in given:
        if text in NAMED:
            continue
        try:
            _value(text, dict.fromkeys([*WORDS, *operands], 1))
        except Exception as error:
            known = ", ".join(NAMED)
            raise ValueError(
                f"--except must be {known}, or an expression over {', '.join(WORDS)} and operands such as "
                f"{operands[0]}; {text!r} is neither: {error}"
            ) from None


def given() -> tuple[str, ...]:
    """Return the exceptions of this run."""
    return tuple(json.loads(os.environ.get(EXCEPT, "[]")))


def name_of(exceptions: Sequence[str], found: Sequence[Difference], operands: Mapping[str, int]) -> str | None:
    """Return the first exception that holds for all differing fields of a result; None if none does."""
    return next((each for each in exceptions if all(_holds(each, one, operands) for one in found)), None)


def _holds(exception: str, difference: Difference, operands: Mapping[str, int]) -> bool:
    got, expected, fmt = difference.got, difference.expected, difference.fmt
    if exception in NAMED:
        return isinstance(fmt, FloatFormat) and NAMED[exception](fmt, got, expected)
    return bool(_value(exception, {**operands, "got": got, "expected": expected, "distance": abs(got - expected)}))


def _value(text: str, names: Mapping[str, int]) -> object:
    return simple_eval(text, names=dict(names), functions={"abs": abs, "min": min, "max": max})
