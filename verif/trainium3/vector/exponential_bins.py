"""Bins of golden results of the exponential, and beats that hit all of them."""

from collections.abc import Iterator, Sequence
from functools import cache

import numpy as np

from bitpath.golden.formats.catalogue import BF16, FP32, FloatFormat
from bitpath.golden.trainium3.declarations.vector import ExponentialNumerics
from bitpath.golden.trainium3.vector.exponential import exponential_of
from bitpath.rtl.trainium3.vector.exponential import ExponentialConfig, Reduce
from bitpath.verif.kit.coverage import cross
from bitpath.verif.trainium3.vector.exponential import SOURCES, Beat, cast_code, code

ARGUMENTS = {"overflow": 100.0, "normal": 1.0, "subnormal": -90.0, "zero": -110.0, "NaN": np.nan}
"""Classes of powers of finite arguments, and of NaN's; and a number of each, which all formats have."""
TIES = ("tie, down", "tie, up")
HALF = 1 << FP32.width - BF16.width - 1
SUMS = ("sum overflows", "sum is NaN")
BINS = (
    *cross((fmt.name for fmt in SOURCES), ("FP32", "BF16"), ARGUMENTS),
    *TIES,
    *(each.name for each in Reduce),
    *SUMS,
)
"""A command is one only where another would have given another sum."""


def bins_of(beats: Sequence[Beat], powers: Sequence[Sequence[int]], sums: Sequence[int]) -> Iterator[str]:
    """The bins of beats after a reset, from golden powers and sums."""
    for beat, row, before, after in zip(beats, powers, [0, *sums], sums, strict=False):
        for element, power in zip(beat.elements, row, strict=True):
            if (name := _class_of(beat, element, power)) is not None:
                yield f"{beat.source.name}/{'BF16' if beat.bf16 else 'FP32'}/{name}"
            if beat.bf16 and power < FP32.infinity_code and power & 2 * HALF - 1 == HALF:
                yield TIES[power >> BF16.width & 1]
        starts = {
            Reduce.IDLE: before,
            Reduce.RESET_REDUCE: before,
            Reduce.LOAD_REDUCE: beat.init,
            Reduce.REDUCE: before,
        }
        if _finite(starts[beat.reduce]) and starts[beat.reduce] and (after == before) == (beat.reduce is Reduce.IDLE):
            yield beat.reduce.name
        if after == FP32.infinity_code and all(map(_finite, (before, beat.init, *row))):
            yield SUMS[0]
        if after == FP32.nan_code:
            yield SUMS[1]


def _class_of(beat: Beat, element: int, power: int) -> str | None:
    if power == FP32.nan_code:
        return "NaN"
    if not (_finite(element, beat.source) and _finite(beat.max_value)):
        return None
    if power == FP32.infinity_code:
        return "overflow"
    if power > FP32.fraction_mask:
        return "normal"
    return "subnormal" if power else "zero"


def _finite(number: int, fmt: FloatFormat = FP32) -> bool:
    return number & ~fmt.sign_mask < fmt.infinity_code


def directed_beats(config: ExponentialConfig) -> Iterator[Beat]:
    """Beats that hit all bins, where they are the first after a reset."""

    def beat(element: int, source: FloatFormat = FP32, **fields) -> Beat:
        return Beat((element,) * config.width, source, **fields)

    one = code(1.0)
    for command in (Reduce.RESET_REDUCE, Reduce.REDUCE, Reduce.IDLE, Reduce.LOAD_REDUCE, Reduce.RESET_REDUCE):
        yield beat(one, reduce=command, init=one)
    yield beat(code(88.0), reduce=Reduce.LOAD_REDUCE, init=FP32.max_code)
    for source in SOURCES:
        for bf16 in (False, True):
            for number in ARGUMENTS.values():
                element = source.nan_code if np.isnan(number) else cast_code(number, source)
                yield beat(element, source, bf16=bf16)
    for element in _ties(config.numerics):
        yield beat(element, bf16=True)


@cache
def _ties(numerics: ExponentialNumerics) -> tuple[int, ...]:
    """Elements whose powers lie half-way between two BF16 numbers: to the even one it is down, and up."""
    elements = np.arange(code(1.0), code(1.0) + (1 << 19), dtype=np.uint32)
    powers = exponential_of(elements.view(np.float32), np.float32(0), numerics).view(np.uint32)
    halves = powers & 2 * HALF - 1 == HALF
    odd = powers >> BF16.width & 1 == 1
    return tuple(int(elements[halves & each][0]) for each in (~odd, odd))
