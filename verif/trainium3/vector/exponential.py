"""Beats for VectorE's exponential, what golden makes of them, and random ones by class."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from random import Random

import numpy as np

from bitpath.golden.arrays.codec import decode_array
from bitpath.golden.formats.catalogue import BF16, FP16, FP32, FloatFormat
from bitpath.golden.scalar import fp32 as exact
from bitpath.golden.trainium3.exact import exponential
from bitpath.golden.trainium3.vector.activation import exponential_of
from bitpath.rtl.trainium3.vector.exponential import ExponentialConfig, Reduce, Source, beat_layout, result_layout
from bitpath.verif.common.fp32 import numbers as fp32
from bitpath.verif.kit.mismatches import Shown
from bitpath.verif.kit.packing import pack
from bitpath.verif.kit.pipeline import Request
from bitpath.verif.kit.values import code_text, codes_text

SOURCES = (BF16, FP16, FP32)
ADDING = (Reduce.RESET_REDUCE, Reduce.REDUCE, Reduce.LOAD_REDUCE)


@dataclass(frozen=True)
class Beat:
    """One beat; codes of elements are as wide as their format."""

    elements: tuple[int, ...]
    source: FloatFormat = FP32
    max_value: int = 0
    reduce: Reduce = Reduce.RESET_REDUCE
    init: int = 0
    count: int | None = None
    bf16: bool = False
    last: bool = False

    @property
    def wide(self) -> list[int]:
        """The elements as FP32 codes."""
        return [exact.convert(code, self.source, FP32) for code in self.elements]

    @property
    def added(self) -> int:
        """Number of its elements that are added."""
        return len(self.elements) if self.count is None else self.count

    def shown(self, place: str) -> Shown:
        """The element whose power differs, or all of them."""
        name, _, element = place.partition(".")
        elements = self.elements[int(element) :][:1] if name == "powers" else self.elements
        flags = " ".join(flag for flag in ("bf16", "last") if getattr(self, flag))
        operands = {
            "elements": f"{self.source.name} {codes_text(self.source, elements)}",
            "maximum": code_text(FP32, self.max_value),
            "command": f"{self.reduce.name}, init {code_text(FP32, self.init)}, {self.added} added {flags}".strip(),
        }
        return Shown(operands=operands, formats={"powers": FP32, "sum": FP32})

    def payload(self, config: ExponentialConfig) -> int:
        """Return the port's payload; 16-bit codes stand above 16 zeros."""
        shift = FP32.width - self.source.width
        rest = (self.source, self.max_value, self.reduce, self.init, self.added, self.bf16, self.last)
        return words(code << shift for code in self.elements) | _without_elements(config, *rest)


def words(codes: Iterable[int]) -> int:
    """Words of 32 bits, the first lowest."""
    return sum(code << FP32.width * k for k, code in enumerate(codes))


@cache
def _without_elements(
    config: ExponentialConfig,
    source: FloatFormat,
    max_value: int,
    reduce: Reduce,
    init: int,
    count: int,
    bf16: bool,
    last: bool,
) -> int:
    """A beat's other fields, in place."""
    control = {"reduce": reduce, "init": init, "count": count, "bf16": bf16, "last": last}
    fields = {"max_value": max_value, "source": Source[source.name], "control": control}
    return pack(beat_layout(config), fields)


def powers_of(config: ExponentialConfig, beats: Sequence[Beat]) -> list[list[int]]:
    """FP32 codes of every beat's powers, by the vectorised model."""
    wide = [decode_array(beat.source, np.array(beat.elements)) for beat in beats]
    maxima = np.array([[beat.max_value] for beat in beats], np.uint32).view(np.float32)
    powers = exponential_of(np.array(wide, np.float32), maxima, config.numerics)
    return powers.view(np.uint32).tolist()


def exact_powers_of(config: ExponentialConfig, beats: Sequence[Beat]) -> list[list[int]]:
    """The same, by the exact tier."""
    return [[exponential(config.numerics, code, beat.max_value) for code in beat.wide] for beat in beats]


def cast(beats: Sequence[Beat], powers: Sequence[Sequence[int]]) -> list[list[int]]:
    """Powers as they are stored, BF16 above 16 zeros."""
    return [
        [exact.convert(power, FP32, BF16) << 16 for power in row] if beat.bf16 else list(row)
        for beat, row in zip(beats, powers, strict=True)
    ]


def sums_of(beats: Sequence[Beat], terms: Sequence[Sequence[int]]) -> list[int]:
    """The accumulator after every beat, from 0 before the first."""
    accumulator, sums = 0, []
    for beat, row in zip(beats, terms, strict=True):
        if beat.reduce is not Reduce.IDLE:
            start = {Reduce.RESET_REDUCE: 0, Reduce.LOAD_REDUCE: beat.init}
            accumulator = start.get(beat.reduce, accumulator)
            for term in row[: beat.added]:
                accumulator = exact.add(accumulator, term)
        sums.append(accumulator)
    return sums


def requests(
    config: ExponentialConfig,
    beats: Sequence[Beat],
    powers: Sequence[Sequence[int]],
    sums: Sequence[int] | None = None,
) -> list[Request]:
    """Beats with what must come of them; ``sums`` are those of the exact tier where they are not given."""
    stored = cast(beats, powers)
    if sums is None:
        sums = sums_of(beats, powers if config.numerics.sum_before_cast else stored)
    layout = result_layout(config)
    return [
        Request(beat.payload(config), pack(layout, {"powers": words(row), "sum": total, "last": beat.last}), beat.shown)
        for beat, row, total in zip(beats, stored, sums, strict=True)
    ]


def code(value: float) -> int:
    """The FP32 code next to a number."""
    return int(np.float32(value).view(np.uint32))


def cast_code(value: float, fmt: FloatFormat) -> int:
    """The code next to a number in a source's format."""
    return exact.convert(code(value), FP32, fmt)


def softmax_elements(fmt: FloatFormat, rng: Random, width: int) -> list[int]:
    """Elements around a maximum of a few units."""
    return [cast_code(rng.gauss(0, 3), fmt) for _ in range(width)]


def wide_elements(fmt: FloatFormat, rng: Random, width: int) -> list[int]:
    """Uniform elements in [-110, 95]; exp underflows at the lower end and overflows at the upper."""
    return [cast_code(rng.uniform(-110, 95), fmt) for _ in range(width)]


def small_elements(fmt: FloatFormat, rng: Random, width: int) -> list[int]:
    """Near 0 on a logarithmic scale."""
    return [cast_code(rng.choice((-1, 1)) * 2.0 ** rng.uniform(-40, 0), fmt) for _ in range(width)]


def any_elements(fmt: FloatFormat, rng: Random, width: int) -> list[int]:
    """Every bit at random, edges at times."""
    if fmt is FP32 and rng.getrandbits(1):
        return [fp32.edge(rng) for _ in range(width)]
    return [rng.getrandbits(fmt.width) for _ in range(width)]


CLASSES = (softmax_elements, wide_elements, small_elements, any_elements)


def random_beat(config: ExponentialConfig, rng: Random) -> Beat:
    """Any class, format and command."""
    source = rng.choice(SOURCES)
    elements = rng.choice(CLASSES)(source, rng, config.width)
    maximum = rng.choice((0, 0, code(rng.gauss(0, 3)), code(rng.uniform(-100, 100)), fp32.any_code(rng)))
    return Beat(
        tuple(elements),
        source,
        maximum,
        rng.choice(list(Reduce)),
        fp32.mixed(rng),
        rng.randint(0, config.width),
        bool(rng.getrandbits(1)),
        bool(rng.getrandbits(1)),
    )


def row_beats(config: ExponentialConfig, row: Sequence[int], first: Beat) -> list[Beat]:
    """Cut a row into beats with the control of ``first``; all but the first have REDUCE."""
    beats = []
    for begin in range(0, len(row), config.width):
        part = tuple(row[begin : begin + config.width])
        padded = part + (0,) * (config.width - len(part))
        beats.append(
            Beat(
                padded,
                first.source,
                first.max_value,
                Reduce.REDUCE if begin else first.reduce,
                first.init,
                len(part),
                first.bf16,
                begin + config.width >= len(row),
            )
        )
    return beats
