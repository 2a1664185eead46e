"""Instructions and seeds for SFP_STOCH_RND, with golden's results and states."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from random import Random

import numpy as np

from bitpath.golden.formats.catalogue import BF16, FP32, TF32
from bitpath.golden.formats.rounding import Rounding as Nearest
from bitpath.golden.scalar.rounding import round_to_format, round_to_integer
from bitpath.golden.tensix import Prng, sfp_stoch_rnd
from bitpath.golden.tensix.declarations.formats import Format
from bitpath.golden.tensix.declarations.numerics import TensixNumerics
from bitpath.golden.tensix.vector.modes import StochasticMode
from bitpath.golden.tensix.vector.prng import step
from bitpath.golden.tensix.vector.stochastic_round import LARGEST, SIGNED
from bitpath.rtl.tensix.vector.stochastic_round import LANE_BITS, LANES, LaneWords, RandomBits, RoundMode, RoundRequest
from bitpath.verif.common.boundary_codes import codes_about, exact_code
from bitpath.verif.kit.boundaries import integer_boundaries, near
from bitpath.verif.kit.mismatches import Shown
from bitpath.verif.kit.packing import pack
from bitpath.verif.kit.pipeline import Request
from bitpath.verif.kit.values import codes_text
from bitpath.verif.tensix.dot.numbers import l1_number

FLOATS = (RoundMode.FP16A, RoundMode.FP16B)
DISCARDED_BITS = {RoundMode.FP16A: 13, RoundMode.FP16B: 16}
FORMATS = {RoundMode.FP16A: TF32, RoundMode.FP16B: BF16}
"""FP32's exponents with as many fraction bits as a mode keeps."""
EDGES = (0, 1, 125, 126, 127, 133, 134, 135, 141, 142, 143, 144, 254, 255)
"""Exponents next to zero, 0.5, each integer's end, and infinity."""
EDGE_FRACTIONS = (0, 1, 0xFFF, 0x1000, 0x7FFF, 0x8000, 0x3FFFFF, 0x400000, 0x400001, 0x7FFFFE, 0x7FFFFF)


def roundings(numerics: TensixNumerics) -> list[RandomBits]:
    """Return those that a chip has."""
    return [each for each in RandomBits if each is not RandomBits.ZERO or numerics.sfpu_round_to_zero]


def bin_name(mode: RoundMode, rounding: RandomBits) -> str:
    return f"{mode.name}/{rounding.name}"


@dataclass(frozen=True)
class Rounding:
    """An instruction: 32 FP32 codes, mode and rounding."""

    words: tuple[int, ...]
    mode: RoundMode
    rounding: RandomBits

    def request(self, numerics: TensixNumerics, states: np.ndarray) -> Request:
        """Return the request with golden's result for the lanes' states, uint32 [32]."""
        stochastic = self.rounding is RandomBits.STOCHASTIC
        results = sfp_stoch_rnd(
            np.array(self.words, np.uint32),
            self.mode.value,
            rounding=self.rounding.name.lower(),
            bits=states if stochastic else None,
            numerics=numerics,
        )
        fields = {"lanes": list(self.words), "mode": self.mode, "rounding": self.rounding}
        shown = f"{self.mode.name}, {self.rounding.name.lower()}"

        def context(path: str) -> Shown:
            lane = int(path or 0)
            operands = {"instruction": shown, "lane": codes_text(l1_number(Format.FP32), [self.words[lane]])}
            if stochastic:
                operands["random"] = f"{int(states[lane]):#010x}"
            return Shown(operands=operands, formats={})

        return Request(pack(RoundRequest, fields), pack(LaneWords, results.tolist()), context)


class Lanes:
    """States of all lanes beside the unit's: 0 after a reset, golden's after a seed."""

    def __init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        self.states = np.zeros(LANES, np.uint32)

    def seed(self, seed: int) -> None:
        self.states = Prng(seed).state

    def step(self) -> np.ndarray:
        """Step; return the states before."""
        before, self.states = self.states, step(self.states)
        return before

    @property
    def bits(self) -> int:
        return pack(LaneWords, self.states.tolist())


def any_word(rng: Random) -> int:
    """Return an FP32 code, most of them near the integers' range or with few fraction bits set or clear."""
    exponent = rng.choice((rng.choice(EDGES), rng.randrange(124, 146), rng.getrandbits(8)))
    fraction = rng.choice((rng.choice(EDGE_FRACTIONS), rng.getrandbits(23), rng.getrandbits(7) << 16))
    return rng.getrandbits(1) << 31 | exponent << 23 | fraction


def any_rounding(
    numerics: TensixNumerics, rng: Random, mode: RoundMode | None = None, rounding: RandomBits | None = None
) -> Rounding:
    """Return random lanes, in a random mode and rounding where none are given."""
    words = tuple(any_word(rng) for _ in range(LANES))
    mode = rng.choice(list(RoundMode)) if mode is None else mode
    return Rounding(words, mode, rng.choice(roundings(numerics)) if rounding is None else rounding)


def vectors(words: list[int], mode: RoundMode, rounding: RandomBits) -> list[Rounding]:
    """Return the words as vectors; the last one is filled up with the first words."""
    filled = words + words[: -len(words) % LANES]
    return [Rounding(tuple(filled[k : k + LANES]), mode, rounding) for k in range(0, len(filled), LANES)]


def corners() -> list[int]:
    """Return both signs of each edge exponent with each edge fraction."""
    return [sign << 31 | each << 23 | fraction for sign in (0, 1) for each in EDGES for fraction in EDGE_FRACTIONS]


def boundary_words(rng: Random, mode: RoundMode) -> Iterator[tuple[int, int, str]]:
    """Yield numbers of either sign at and beside the ties of a mode's results, with one bit at every distance; the result of the
    exact value to nearest, ties away from zero; and the bin.

    No result is denormal, and numbers below 0.5 become the integer 0.
    """
    if mode in FLOATS:
        fmt, dropped = FORMATS[mode], DISCARDED_BITS[mode]
        for each, word in codes_about(fmt, rng, rounding=Nearest.RNA):
            if each.value >= fmt.min_normal:
                sign = rng.getrandbits(1) << 31
                yield sign | word, sign | round_to_format(each.value, fmt, Nearest.RNA) << dropped, each.bin
        return
    largest = LARGEST[StochasticMode[mode.name]]
    for each in near(partial(integer_boundaries, 0, largest), rng, range(2, FP32.precision + 1), Nearest.RNA):
        word = exact_code(each.value, FP32) if each.value > 0 else None
        if word is not None:
            sign = rng.getrandbits(1) << 31
            magnitude = min(round_to_integer(each.value, Nearest.RNA), largest)
            negative = sign if magnitude and StochasticMode[mode.name] in SIGNED else 0
            yield sign | word, negative | magnitude, each.bin


def boundary_bins() -> list[str]:
    """Return those that numbers reach: of floats without the ones below the smallest normal, of integers above zero."""
    names = {mode: {name for _, _, name in boundary_words(Random(0), mode)} for mode in RoundMode}
    return [f"{mode.name}/{name}" for mode, each in names.items() for name in sorted(each)]


def every_discard(rng: Random, mode: RoundMode) -> list[int]:
    """Return a number for each value of the discarded bits, of a random sign, exponent and kept fraction."""
    count = DISCARDED_BITS[mode]
    upper = [rng.getrandbits(1) << 31 | rng.randrange(1, 255) << 23 | rng.getrandbits(23) for _ in range(1 << count)]
    return [word >> count << count | discarded for discarded, word in enumerate(upper)]


def any_seed(rng: Random) -> int:
    return rng.choice((0, 1, (1 << LANE_BITS) - 1, rng.getrandbits(LANE_BITS)))
