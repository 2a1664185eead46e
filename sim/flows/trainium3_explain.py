"""Text that ``bitpath explain trainium3`` prints of one step of a PE."""

import re
from collections.abc import Sequence
from typing import Any

from bitpath.golden import exact
from bitpath.golden.arrays.arguments import one_of
from bitpath.golden.explain.explanation import Explanation
from bitpath.golden.formats.catalogue import FP32, FloatFormat
from bitpath.golden.trainium3.declarations.quad_mx import DotNumerics
from bitpath.golden.trainium3.matmul.explain import explain_dot_step
from bitpath.sim.flows.explain_arguments import float_code, read_word


def step(numerics: DotNumerics, elements: Sequence[tuple[str, str, str]], scales: str, partial: str) -> Explanation:
    """Explain one step of a PE.

    Raises ValueError for an unknown format, another number of codes, and text that is neither a code nor a number.

    Parameters
    ----------
    elements : option, format name and codes of the stationary and of the moving side.
    scales, partial : codes or numbers: stationary and moving scale, FP32 partial sum.
    """
    formats = {fmt.name: fmt for fmt in numerics.element_formats}
    operands: list[Any] = []
    for option, name, text in elements:
        if name not in formats:
            raise ValueError(f"{option}-format must be {one_of(formats)}, not {name!r}")
        operands += [_codes(option, text, numerics.terms, formats[name]), formats[name]]
    operands += _codes("--scales", scales, 2, numerics.scale_format)
    operands += _codes("--partial", partial, 1, FP32)
    trace = exact.trace_dot_step(numerics, *operands)
    return Explanation(explain_dot_step(trace), (("step", trace),), trace.result)


def _codes(option: str, text: str, count: int, fmt: FloatFormat) -> list[int]:
    """Read codes and numbers; a word of all of a code's hexadecimal digits is a code without 0x before it too."""
    words = text.split(",")
    if len(words) != count:
        raise ValueError(f"{option} must have {count} codes or numbers, not {len(words)}")
    digits = re.compile(f"[0-9a-fA-F]{{{fmt.width // 4}}}")
    return [
        read_word(
            option,
            f"0x{word}" if digits.fullmatch(word) else word,
            fmt.width,
            fmt.name,
            lambda value: float_code(value, fmt),
        )
        for word in words
    ]
