"""Bench of the add/compare unit: all pairs of bytes, corners of every lane, random requests, latency, resets.

Expected values come from golden before anything is driven. ``BITPATH_CASES`` sets the random requests of a test, and
the requests of each operation in the sweeps over pairs of bytes, which are all pairs where they fit.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from random import Random

import numpy as np

from bitpath.golden import aie_ml_v2 as aie
from bitpath.golden.aie_ml_v2.declarations.codes import (
    FLOAT_OP_FORMATS,
    FLOAT_OPS,
    FP8_FORMATS,
    LANE_BITS,
    VECTOR_BITS,
    Fp8Representation,
    VectorOp,
)
from bitpath.golden.aie_ml_v2.mac.elementwise import MASKED_OPS, UNARY_OPS
from bitpath.golden.arrays.codec import DTYPES
from bitpath.golden.formats.catalogue import BF16, FP16, FloatFormat
from bitpath.rtl.aie_ml_v2.mover.layouts import LaneWidth, VectorAluConfig, alu_request, alu_result
from bitpath.rtl.aie_ml_v2.mover.vector_alu import VectorAlu
from bitpath.verif.kit import pauses
from bitpath.verif.kit.mismatches import Shown
from bitpath.verif.kit.packing import pack, row_bits
from bitpath.verif.kit.pipeline import Made, Request, StreamBench
from bitpath.verif.kit.testplan import covers
from bitpath.verif.kit.values import Integer

# Requests for the add/compare unit with golden's results: rows of any bytes, all pairs of bytes, corners.


FP8_NAMES = ("e5m2", "e4m3")


@dataclass(frozen=True)
class AluAsk:
    """An operation and its lanes.

    Attributes
    ----------
    op : operation.
    bits, signed : integer lanes; without meaning for floats.
    fmt : format of floats, or None.
    representation : for 8-bit floats, the code of crFP8conf or crBF8conf that gives `fmt`.
    """

    op: VectorOp
    bits: int = 8
    signed: bool = True
    fmt: FloatFormat | None = None
    representation: Fp8Representation = Fp8Representation.IEEE

    @property
    def bin(self) -> str:
        if self.fmt is None:
            return f"{self.op.name}/{'int' if self.signed else 'uint'}{self.bits}"
        representation = f" by {self.representation.name}" if self.lane_bits == 8 else ""
        return f"{self.op.name}/{self.fmt.name}{representation}"

    @property
    def lane_bits(self) -> int:
        return self.bits if self.fmt is None else self.fmt.width

    def control(self, junk: Random) -> dict[str, object]:
        """Return the control's fields; those that the operation does not read are junk."""
        fields: dict[str, object] = {
            "op": self.op.value,
            "width": LaneWidth(LANE_BITS.index(self.bits)),
            "is_signed": int(self.signed),
            "bf8": junk.randrange(3),
            "fp8": junk.randrange(3),
        }
        if self.fmt is not None:
            family = next(place for place, formats in enumerate(FLOAT_OP_FORMATS) if self.fmt in formats)
            fields |= {"op": FLOAT_OPS[self.op] + family, "width": junk.choice(list(LaneWidth))}
            fields |= {"is_signed": junk.getrandbits(1)}
            if self.lane_bits == 8:
                fields[("bf8", "fp8")[FP8_NAMES.index(fp8_name(self.fmt))]] = self.representation.value
        return fields

    def golden(self, a: np.ndarray, b: np.ndarray, mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the bytes of the values and the mask of rows of whole registers, uint8 [n, 64], and bool [n,
        lanes]."""
        if self.fmt is not None:
            values, flags = aie.float_op(self.op, *(side.view(DTYPES[self.fmt]) for side in (a, b)))
            return values.view(np.uint8), flags
        dtype = f"<{'i' if self.signed else 'u'}{self.bits // 8}"
        values, flags = aie.vector_op(
            self.op,
            a.view(dtype),
            None if self.op in UNARY_OPS else b.view(dtype),
            bits=self.bits,
            signed=self.signed,
            mask=mask if self.op in MASKED_OPS else None,
        )
        return values.astype(dtype).view(np.uint8), flags

    def shown(self, row: tuple[bytes, bytes], path: str) -> Shown:
        operands = {name: side[::-1].hex() for name, side in zip("ab", row, strict=True)}
        formats = {"values": self.fmt or Integer(self.lane_bits, signed=self.signed)}
        return Shown(operands={"operation": self.bin} | operands, formats=formats if path == "" else None)


def fp8_name(fmt: FloatFormat) -> str:
    return FP8_NAMES[fmt.exponent_bits == 4]


INTEGER_ASKS = [AluAsk(op, bits, signed) for op, bits, signed in product(VectorOp, LANE_BITS, (False, True))]
SHORT_FLOAT_ASKS = [
    AluAsk(op, fmt=FP8_FORMATS[key], representation=key[1]) for op, key in product(FLOAT_OPS, FP8_FORMATS)
]
"""All representations of both 8-bit floats."""
FLOAT_ASKS = [AluAsk(op, fmt=fmt) for op, fmt in product(FLOAT_OPS, (BF16, FP16))] + SHORT_FLOAT_ASKS
ASKS = [*INTEGER_ASKS, *FLOAT_ASKS]


def alu_requests(ask: AluAsk, a: np.ndarray, b: np.ndarray, size: int, junk: Random) -> list[Request]:
    """Requests of two arrays of bytes, filled up with zeros to registers of `size` bytes, with random masks."""
    whole = VECTOR_BITS // 8
    count = -(-len(a) // whole) * whole
    sides = [np.concatenate([side, np.zeros(count - len(side), np.uint8)]).reshape(-1, whole) for side in (a, b)]
    bits = np.frombuffer(junk.randbytes(count), np.uint8) & 1
    given = bits[: count * 8 // ask.lane_bits].astype(bool).reshape(len(sides[0]), -1)
    values, flags = ask.golden(*sides, given)
    rows = slice(-(-len(a) // size))
    first, second, result = (each.reshape(-1, size)[rows] for each in (*sides, values))
    masks = [
        row_bits(np.packbits(each.reshape(-1, size * 8 // ask.lane_bits)[rows], -1, "little"))
        for each in (given, flags)
    ]
    lanes = size * 8 // ask.lane_bits
    control, request, out = ask.control(junk), alu_request(size), alu_result(size)
    return [
        Request(
            pack(
                request,
                {
                    **control,
                    "a": x,
                    "b": y,
                    "mask": mask | junk.getrandbits(size - lanes or 1) << lanes & (1 << size) - 1,
                },
            ),
            pack(out, {"values": value, "mask": flag}),
            partial(ask.shown, (row[0].tobytes(), row[1].tobytes())),
        )
        for x, y, mask, value, flag, row in zip(
            row_bits(first),
            row_bits(second),
            masks[0],
            row_bits(result),
            masks[1],
            zip(first, second, strict=True),
            strict=True,
        )
    ]


def every_pair() -> tuple[np.ndarray, np.ndarray]:
    """Return all pairs of bytes, 65,536 on either side."""
    codes = np.arange(256, dtype=np.uint8)
    return np.repeat(codes, 256), np.tile(codes, 256)


def corners(ask: AluAsk) -> np.ndarray:
    """Return the codes around which a lane's result changes, as unsigned integers."""
    bits = ask.lane_bits
    if ask.fmt is None:
        top = 1 << bits - 1
        codes = [
            0,
            1,
            2,
            top - 1,
            top,
            top + 1,
            2 * top - 2,
            2 * top - 1,
            top >> 1,
            0xFF,
            0x100,
            top | 0xFF,
            0x55 << bits - 8,
        ]
    else:
        fmt = ask.fmt
        codes = [
            0,
            1,
            fmt.fraction_mask,
            fmt.fraction_mask + 1,
            fmt.max_code - 1,
            fmt.max_code,
            fmt.bias << fmt.fraction_bits,
        ]
        codes += [
            each for each in (fmt.infinity_code, (fmt.infinity_code or 0) + 1, fmt.sign_mask - 1) if each is not None
        ]
        codes += [each ^ fmt.sign_mask for each in codes]
    return np.unique(np.array(codes, np.int64) & (1 << bits) - 1)


def corner_pairs(ask: AluAsk) -> tuple[np.ndarray, np.ndarray]:
    """Return all pairs of corners as bytes."""
    codes = corners(ask).astype(f"<u{ask.lane_bits // 8}")
    return np.repeat(codes, len(codes)).view(np.uint8), np.tile(codes, len(codes)).view(np.uint8)


def random_alu(ask: AluAsk, size: int, source: Random) -> list[Request]:
    """Return one request of random lanes; half of them are corners, and a tenth of b's are a's."""
    lanes, codes = size * 8 // ask.lane_bits, corners(ask).tolist()
    a, b = (
        [source.choice((source.choice(codes), source.getrandbits(ask.lane_bits))) for _ in range(lanes)] for _ in "ab"
    )
    b = [x if source.random() < 0.1 else y for x, y in zip(a, b, strict=True)]
    sides = (np.array(side, np.int64).astype(f"<u{ask.lane_bits // 8}").view(np.uint8) for side in (a, b))
    return alu_requests(ask, *sides, size, source)


def sampled(pairs: tuple[np.ndarray, np.ndarray], most: int, source: Random) -> Iterator[np.ndarray]:
    """Yield both sides of all pairs, or of a sample if there are more than `most`."""
    count = len(pairs[0])
    chosen = range(count) if count <= most else sorted(source.sample(range(count), most))
    for side in pairs:
        yield side[list(chosen)]


def draw(asks: Sequence[AluAsk], rng: Random) -> list[Request]:
    return [each for ask in asks for each in random_alu(ask, BENCH.config.register_bytes, rng)]


BENCH = StreamBench(__name__, VectorAluConfig, VectorAlu, ASKS, draw, lambda ask: (ask.bin,))
random_requests, latency, resets = BENCH.tests()
covers(
    "vector_alu.stream",
    "Each request carries its own control, and floats ignore the width and sign of integers",
    "Every operation, width, sign and format in any order, with random masks and random fields that the operation does not read; "
    "full speed, gaps, stalls and both; latency; resets",
    random_requests,
    latency,
    resets,
)


def _pairs_of_bytes(asks: list[AluAsk]) -> list[Request]:
    rng, size = pauses.rng("pairs"), BENCH.config.register_bytes
    pairs = every_pair()
    return [each for ask in asks for each in alu_requests(ask, *sampled(pairs, BENCH.cases * size, rng), size, rng)]


@covers("vector_alu.bytes", "Wrapping, NaN and zeros of both signs lie among them")
@BENCH.sweep(signed=[False, True])
def pairs_of_8_bit_integers(signed: bool) -> Made:
    """All pairs of 8-bit integers under every operation, signed and unsigned; all pairs of 8-bit floats in every
    representation under every comparison."""
    return _pairs_of_bytes([AluAsk(op, 8, signed) for op in VectorOp])


@covers("vector_alu.bytes")
@BENCH.sweep()
def pairs_of_8_bit_floats() -> Made:
    """In every representation of both, under every comparison."""
    return _pairs_of_bytes(SHORT_FLOAT_ASKS)


@covers("vector_alu.corners", "One adder serves all widths, so a carry must stop at its lane")
@BENCH.sweep()
def pairs_of_corners() -> Made:
    """All pairs of limits, powers of two and carries of 8, 16 and 32-bit lanes, and of limits of BF16, FP16 and 8-bit
    floats, under every operation."""
    rng, size = pauses.rng("masks"), BENCH.config.register_bytes
    return [each for ask in ASKS for each in alu_requests(ask, *corner_pairs(ask), size, rng)]
