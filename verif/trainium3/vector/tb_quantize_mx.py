"""Bench of QuantizeMX: every source code, directed corners, random blocks at every pace, latency, resets.

Expected values come from golden before anything is driven. ``BITPATH_CASES`` sets the random blocks of a test.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from random import Random

import cocotb
import numpy as np

from bitpath.golden.formats.catalogue import BF16, E2M1, E8M0, FP16, FP32
from bitpath.golden.scalar.codec import decode
from bitpath.golden.scalar.rounding import round_to_format
from bitpath.golden.trainium3.declarations.quad_mx import ScaleRule
from bitpath.golden.trainium3.exact.conversions import quantize_block
from bitpath.rtl.trainium3.faults import Fault
from bitpath.rtl.trainium3.vector.quantize_mx import BLOCK, ELEMENTS, QuantizeMx, QuantizeMxConfig
from bitpath.verif.common.boundary_codes import codes_about
from bitpath.verif.kit import pauses
from bitpath.verif.kit.bench import bench
from bitpath.verif.kit.coverage import Coverage
from bitpath.verif.kit.pipeline import LIMIT, Made, Request, StreamBench
from bitpath.verif.kit.testplan import covers
from bitpath.verif.trainium3.refusals import refuse_among
from bitpath.verif.trainium3.vector.quantize_mx import MODES, Mode, every_pattern, random_blocks, requests, with_golden

# Directed blocks for QuantizeMX, each with the property of the exact tier's result that makes it a corner.


Result = tuple[list[int], int]


@dataclass(frozen=True)
class Corner:
    """A block, its mode, its bin, and a check of the bin's property."""

    bin: str
    mode: Mode
    codes: tuple[int, ...]
    holds: Callable[[Result], bool]

    @property
    def result(self) -> Result:
        """Codes and scale, by the exact tier."""
        return quantize_block(self.codes, self.mode.source, self.mode.element, self.mode.rule)


def corners(mode: Mode, rng: Random) -> list[Corner]:
    """All directed blocks of a mode."""
    makers = (_zeros, _tiny, _scales, _specials, _places, _saturation, _ties, _underflow, _boundaries)
    return [corner for maker in makers for corner in maker(mode, rng)]


def code(mode: Mode, value: Fraction | int) -> int:
    """A source's code of a number that it holds, or next to it."""
    return round_to_format(Fraction(value), mode.source)


def block(rng: Random, *codes: int, others: int = 0) -> tuple[int, ...]:
    """These codes in places of their own, the others elsewhere."""
    elements = [others] * BLOCK
    for place, element in zip(rng.sample(range(BLOCK), len(codes)), codes, strict=True):
        elements[place] = element
    return tuple(elements)


def _zeros(mode: Mode, rng: Random) -> Iterator[Corner]:
    for sign in (0, mode.source.sign_mask):
        expected = ([mode.element.sign_mask if sign else 0] * BLOCK, 0)
        name = f"{'-' if sign else '+'}0"
        yield Corner(name, mode, (sign,) * BLOCK, lambda result, expected=expected: result == expected)


def _tiny(mode: Mode, rng: Random) -> Iterator[Corner]:
    """The source's subnormals alone: BF16's have the smallest scale, FP16's are scaled as any number."""
    for top in (1, 2, mode.source.fraction_mask):
        codes = block(rng, top, top | mode.source.sign_mask)
        small = mode.source is BF16
        yield Corner("subnormals", mode, codes, lambda result, small=small: (result[1] == 0) == small)


def _scales(mode: Mode, rng: Random) -> Iterator[Corner]:
    """Every scale that the largest exponent gives, and where it stops at 0."""
    bias = FP32.bias - mode.source.bias
    for exponent in range(1, mode.source.exponent_mask):
        element = exponent << mode.source.fraction_bits | rng.getrandbits(mode.source.fraction_bits)
        smaller = rng.randrange(exponent) << mode.source.fraction_bits
        scale = max(exponent + bias - mode.offset, 0)
        yield Corner(
            f"scale {scale}",
            mode,
            block(rng, element | rng.getrandbits(1) * mode.source.sign_mask, smaller),
            lambda result, scale=scale: result[1] == scale,
        )


def _specials(mode: Mode, rng: Random) -> Iterator[Corner]:
    """Infinities saturate and NaN is +NaN, or the largest number without NaN; the scale is that of an exponent of 255,
    whatever else is in the block."""
    source, element = mode.source, mode.element
    infinity, nan = source.infinity_code, source.nan_code
    largest, smallest = source.max_code, 1
    its_nan = element.max_code if element.nan_code is None else element.nan_code
    kinds = {
        "+inf": (infinity, element.max_code),
        "-inf": (infinity | source.sign_mask, element.max_code | element.sign_mask),
        "nan": (nan, its_nan),
        "-nan": (infinity + 1 | source.sign_mask, its_nan),
    }
    for name, (given, becomes) in kinds.items():
        for codes in (block(rng, given), block(rng, given, largest, smallest), (given,) * BLOCK):
            yield Corner(
                f"{name}",
                mode,
                codes,
                lambda result, becomes=becomes: becomes in result[0] and result[1] == FP32.exponent_mask - mode.offset,
            )
    yield Corner(
        "all of them",
        mode,
        block(rng, *(given for given, _ in kinds.values()), largest, largest | source.sign_mask),
        lambda result: {becomes for _, becomes in kinds.values()} <= set(result[0]),
    )


def _places(mode: Mode, rng: Random) -> Iterator[Corner]:
    """The largest element in each of the 32 places, all others a binade or more below."""
    for place in range(BLOCK):
        element = code(mode, 4) | rng.getrandbits(2)
        smaller = [code(mode, Fraction(rng.randint(1, 7), 4)) for _ in range(BLOCK)]
        smaller[place] = element
        scale = FP32.bias + 2 - mode.offset
        yield Corner(f"largest at {place}", mode, tuple(smaller), lambda result, scale=scale: result[1] == scale)


def _saturation(mode: Mode, rng: Random) -> Iterator[Corner]:
    """The largest significand below 2, the format's largest, half a unit above it, and more and less than that."""
    element = mode.element
    top = element.max / 2**element.emax
    half = Fraction(1, 2 ** (element.fraction_bits + 1))
    fine = Fraction(1, 2**mode.source.fraction_bits)
    for value in (top, top + half - fine, top + half, top + half + fine, 2 - fine):
        ocp = mode.rule is ScaleRule.OCP or element is E2M1
        codes = block(rng, code(mode, value), code(mode, -value))
        # Half a unit above the largest is a tie that would go to infinity or NaN.
        saturates = ocp and value > top
        yield Corner(
            f"{'saturates' if saturates else 'largest or less'}",
            mode,
            codes,
            lambda result, ocp=ocp: (element.max_code in result[0]) == ocp,
        )


def _ties(mode: Mode, rng: Random) -> Iterator[Corner]:
    """Half a unit between every two neighbours of a binade, and a little less and more."""
    element, source = mode.element, mode.source
    dropped = source.fraction_bits - element.fraction_bits
    for kept in range(1 << element.fraction_bits):
        for side in (-1, 0, 1):
            # Under a larger element, so that nothing saturates.
            value = 1 + Fraction((2 * kept + 1 << dropped) + 2 * side, 2 << source.fraction_bits)
            even = (kept + (side > 0 or (side == 0 and kept % 2 == 1))) % (1 << element.fraction_bits)
            codes = block(rng, code(mode, 2), code(mode, value), code(mode, -value))
            yield Corner(
                f"tie {kept} {'<=>'[side + 1]}",
                mode,
                codes,
                lambda result, even=even: any(each and each & element.fraction_mask == even for each in result[0]),
            )


def _underflow(mode: Mode, rng: Random) -> Iterator[Corner]:
    """Below the element's normal numbers: every subnormal, half-way between them, half of the smallest, and less."""
    element = mode.element
    # Under so large an element that FP16 has numbers far enough below it.
    largest = Fraction(2) ** FP16.emax
    unit = element.min_subnormal * largest / 2**mode.offset
    for halves in range(2 << element.fraction_bits):
        for fine in (-1, 0, 1):
            value = (Fraction(halves, 2) + Fraction(fine, 32)) * unit
            if value < 0:
                continue
            units = round(value / unit)
            codes = block(rng, code(mode, largest), code(mode, value), code(mode, value) | mode.source.sign_mask)
            yield Corner(
                f"underflow {units}",
                mode,
                codes,
                lambda result, units=units: {units, units | element.sign_mask} <= set(result[0]),
            )


def _boundaries(mode: Mode, rng: Random) -> Iterator[Corner]:
    """Ties at every boundary of the element format, and one bit beside them at every distance that the source has.

    A scaled element is below ``2**(offset + 1)``: under NKI05 the largest E4M3FN and E5M2 numbers and their overflow are out of
    reach, and have no bin. One of the FP16 numbers is the largest of the block, so that the smallest elements remain.
    """
    top = FP16.emax if mode.source is FP16 else rng.randint(-40, FP32.emax)
    largest = top + mode.source.bias << mode.source.fraction_bits
    for each, element in codes_about(mode.element, rng, mode.source, shift=mode.offset - top):
        if each.value < 2 ** (mode.offset + 1):
            codes = block(
                rng, largest | rng.getrandbits(mode.source.fraction_bits), element, element | mode.source.sign_mask
            )
            yield Corner(
                f"boundary/{each.bin}",
                mode,
                codes,
                lambda result, value=each.value, element=element: (
                    decode(mode.source, element).value == value * decode(E8M0, result[1]).value
                ),
            )


def draw(modes: Sequence[Mode], rng: Random) -> list[Request]:
    return [request for mode in modes for request in with_golden(random_blocks(mode.source, 1, rng), mode)]


BENCH = StreamBench(
    __name__, QuantizeMxConfig, QuantizeMx, list(MODES.values()), draw, default_cases=500, draws="blocks"
)
EVERY_MODE = [cocotb.Param(mode, name=name) for name, mode in MODES.items()]
random_blocks_in_every_mode, latency, resets = BENCH.tests("random_blocks_in_every_mode")
covers(
    "quantize_mx.stream",
    "The machine quantises 512 elements a cycle",
    "Modes in any order at full speed, with gaps, stalls and both; a block a cycle; latency is the number of stages",
    random_blocks_in_every_mode,
    latency,
)
covers(
    "quantize_mx.reset",
    "Data registers have no reset; only the valid bits hide their contents",
    "Resets with blocks in the first, in some and in all pipeline stages, with and without a stall: no result of them appears, and "
    "later ones do",
    resets,
)


@covers("quantize_mx.codes", "An element is rounded with its own exponent, or flushed by a larger one")
@covers("quantize_mx.specials")
@covers("quantize_mx.stream")
@BENCH.sweep(mode=EVERY_MODE)
def every_code(mode) -> Made:
    """All 65,536 codes of BF16 and of FP16 to E4M3FN, E5M2 and E2M1 under both scale rules, among elements of one
    exponent and beside a larger one."""
    return with_golden(every_pattern(mode.source, pauses.rng("blocks")), mode)


@covers(
    "quantize_mx.scales",
    "One element determines the scale of the block",
    "Every scale that a source's exponents give, the stop at 0, the largest element in each of the 32 positions",
)
@covers(
    "quantize_mx.small",
    "The vendor's goldens disagree below the range; the stored scale is the one that divides",
    "Blocks of zeros of either sign; subnormals alone: BF16's under scale 0, FP16's as any number; every "
    "subnormal of the element, half-way between them, and numbers that round to zero",
)
@covers(
    "quantize_mx.saturation",
    "Half a unit above the largest is a tie that would leave the range",
    "The largest code, half a unit above it and less and more, under OCP and in E2M1 saturating, under NKI05 with "
    "room; ties of a whole binade",
)
@covers(
    "quantize_mx.boundaries",
    "A rounder that loses its lowest sticky bits there passes all random blocks but a few",
    "Elements at ties about zero, the subnormal grid, the smallest normal, a binade, the largest number and "
    "overflow, and one bit beside them at every distance",
)
@covers(
    "quantize_mx.specials",
    "Infinity saturates, NaN is one code, in E2M1 the largest, and finite elements beside them are still divided",
    "Infinities and NaNs of both signs alone, in every place, with each other and with the largest and the "
    "smallest elements",
)
@BENCH.sweep(mode=EVERY_MODE)
def directed_corners(mode: Mode) -> Made:
    table = corners(mode, pauses.rng("corners"))
    results = [corner.result for corner in table]
    codes, scales = zip(*results, strict=True)
    given = np.array([corner.codes for corner in table], np.uint16)
    sent = requests(given, np.array(codes, np.uint8), np.array(scales), mode)
    held = (corner.bin for corner, result in zip(table, results, strict=True) if corner.holds(result))
    return sent, Coverage((corner.bin for corner in table), held)


@covers("quantize_mx.refused", "They would come out as E2M1")
@cocotb.test(**LIMIT, skip=not (BENCH.config.checks and BENCH.latency))
async def refused_beats(dut):
    """Blocks of the element format that there is not among others."""
    rng = pauses.rng("refused")
    sent, wrong = [], [(Fault.DTYPE, {"control": {"element": len(ELEMENTS)}})] * 40
    for mode in MODES.values():
        sent += with_golden(random_blocks(mode.source, 8, rng), mode)
    async with bench(dut, BENCH.unit.signature) as frame:
        await refuse_among(frame, sent, wrong, rng)
