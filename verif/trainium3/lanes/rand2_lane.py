"""Beats for the rand2 lane, the exact tier's results, and random beats."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import cycle, product
from random import Random

import numpy as np

from bitpath.golden.formats.catalogue import FP32
from bitpath.golden.trainium3.declarations.dtypes import FORMATS, container_bits
from bitpath.golden.trainium3.exact import uniform
from bitpath.golden.trainium3.exact.conversions import from_fp32
from bitpath.rtl.trainium3.dma.dtype import Dtype
from bitpath.rtl.trainium3.lanes.rand2_lane import Rand2Config, rand2_beat
from bitpath.verif.common.fp32 import numbers as fp32
from bitpath.verif.kit.mismatches import Shown
from bitpath.verif.kit.packing import pack
from bitpath.verif.kit.pipeline import Request
from bitpath.verif.kit.values import code_text

BINS = (*(f"dtype/{name}" for name in FORMATS), "low", "high", "width/infinity", "width/NaN", "width/subnormal")
RANGES = (
    (0, 1), (-1, 1), (-0.5, 2), (1, 1 + 2**-23), (3, 4), (-300, 300), (-129, 255.5), (-70_000, 70_000), (0, 2**32),
    (-(2**31), 2**31), (-3e38, 3e38), (1e38, 3e38), (-500, 500), (2**-130, 2**-127), (-(2**-149), 2**-149), (-1e-8, 0.1),
    (-np.inf, 0), (0, np.inf),
)  # fmt: skip
"""Limits within, at and beyond the range of the dtypes, neighbours, subnormals, and a difference beyond FP32's range."""
SPARSE = (*(1 << bit for bit in range(32)), *((1 << bit) - 1 for bit in range(33)))
"""Words of one bit, or of ones from bit 0 up."""


@dataclass(frozen=True)
class Value:
    """Four words, or those of a beat, limits as FP32 codes, and the name of the dtype."""

    words: tuple[int, ...]
    low: int
    high: int
    dtype: str

    @property
    def payload(self) -> int:
        fields = {"words": self.words, "low": self.low, "high": self.high, "dtype": Dtype[self.dtype.upper()]}
        return pack(rand2_beat(Rand2Config(width=len(self.words))), fields)

    @cached_property
    def numbers(self) -> list[int]:
        """FP32 codes, by the exact tier."""
        return [uniform(word, self.low, self.high) for word in self.words]

    def shown(self, _: str) -> Shown:
        limits = {name: code_text(FP32, getattr(self, name)) for name in ("low", "high")}
        words = " ".join(f"{word:#010x}" for word in self.words)
        return Shown(operands={"words": words, "dtype": self.dtype} | limits)


def packed(codes: Sequence[int], dtype: str) -> int:
    """Return the beat of four elements, the first in the low bits."""
    return sum(int(code) << container_bits(dtype) * place for place, code in enumerate(codes))


def requests(values: Sequence[Value], width: int, expected: Sequence[Sequence[int]] | None = None) -> list[Request]:
    """Beats of words with their expected codes, which the exact tier computes if they are not given."""
    if expected is None:
        expected = [[from_fp32(code, each.dtype) for code in each.numbers] for each in values]
    made = []
    for each, codes in zip(values, expected, strict=True):
        for part in (slice(first, first + width) for first in range(0, len(each.words), width)):
            beat = replace(each, words=each.words[part])
            made.append(Request(beat.payload, packed(codes[part], each.dtype), beat.shown))
    return made


def beats_of(words: np.ndarray, low: int, high: int, dtype: str) -> list[Value]:
    """Return the beats of a partition's words, four each."""
    return [Value(tuple(four), low, high, dtype) for four in words.reshape(-1, 4).tolist()]


def any_word(rng: Random) -> int:
    return rng.choice(
        (rng.getrandbits(32), rng.getrandbits(32), rng.choice(SPARSE), rng.getrandbits(rng.randint(1, 32)))
    )


def any_limit(rng: Random) -> int:
    return rng.choice((fp32.near_one, fp32.near_one, fp32.edge, fp32.any_code))(rng)


def random_value(rng: Random) -> Value:
    """Any words and dtype; limits of a range, or any two numbers, which golden's instruction refuses in half of the cases."""
    limits = codes(*rng.choice(RANGES)) if rng.random() < 0.5 else (any_limit(rng), any_limit(rng))
    return Value(tuple(any_word(rng) for _ in range(4)), *limits, rng.choice(list(FORMATS)))


def every_range() -> list[Value]:
    """Every dtype in every range, on words of few bits in turn; the limits themselves among them."""
    words = cycle(SPARSE)
    return [
        Value((next(words), 0, next(words), 0xFFFFFFFF), *codes(*limits), dtype)
        for dtype, limits in product(FORMATS, RANGES)
    ]


def every_edge(rng: Random) -> list[Value]:
    """Every edge of FP32 as either limit."""
    pairs = [(edge, any_limit(rng)) for edge in fp32.EDGES]
    return [
        Value((any_word(rng), 0, rng.choice(SPARSE), 0xFFFFFFFF), *limits, rng.choice(list(FORMATS)))
        for pair in pairs
        for limits in (pair, pair[::-1])
    ]


def codes(*numbers: float) -> tuple[int, ...]:
    """FP32 codes of numbers, rounded to nearest even."""
    return tuple(np.array(numbers, np.float32).view(np.uint32).tolist())


def bins_of(values: Sequence[Value]) -> Iterator[str]:
    for each in values:
        yield f"dtype/{each.dtype}"
        low, high = (np.uint32(code).view(np.float32) for code in (each.low, each.high))
        with np.errstate(all="ignore"):
            width = high - low
        if width > 0:
            yield from (name for name in ("low", "high") if getattr(each, name) in each.numbers)
        if np.isnan(width):
            yield "width/NaN"
        elif np.isinf(width):
            yield "width/infinity"
        elif 0 < abs(width) < np.finfo(np.float32).tiny:
            yield "width/subnormal"
