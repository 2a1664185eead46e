"""Requests for SRS with golden's results, and directed corners.

A corner's bin counts as hit only where golden gives the result that is stated.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from random import Random

import numpy as np

from bitpath.golden import aie_ml_v2 as aie
from bitpath.golden.aie_ml_v2.declarations.codes import SRS_MODES, SRS_SHIFTS, RoundingCode, Saturation
from bitpath.golden.aie_ml_v2.mac.flags import with_lane_flags
from bitpath.rtl.aie_ml_v2.convert.layouts import SrsControl
from bitpath.rtl.aie_ml_v2.convert.srs import srs_request, srs_result
from bitpath.verif.aie_ml_v2.convert.bits import array_bits
from bitpath.verif.kit.mismatches import Shown
from bitpath.verif.kit.packing import pack
from bitpath.verif.kit.pipeline import Request
from bitpath.verif.kit.values import Integer

MODES = [(acc, out) for acc, outs in SRS_MODES.items() for out in outs]
PLUS_MINUS = ((1, "+"), (-1, "-"))


@dataclass(frozen=True)
class SrsAsk:
    """Control of a request, in golden's terms."""

    acc_bits: int
    out_bits: int
    shift: int = 0
    rounding: RoundingCode = RoundingCode.FLOOR
    saturation: Saturation = Saturation.NONE
    signed: bool = True

    @property
    def bin(self) -> str:
        """Name of the coverage bin, without the shift."""
        sign = "signed" if self.signed else "unsigned"
        return f"{self.acc_bits} to {self.out_bits}/{self.rounding.name}/{self.saturation.name}/{sign}"

    @property
    def control(self) -> int:
        """Return the control's payload."""
        return pack(
            SrsControl,
            {
                "acc64": int(self.acc_bits == 64),
                "wide": SRS_MODES[self.acc_bits].index(self.out_bits),
                "shift": self.shift,
                "rounding": self.rounding.value,
                "saturation": self.saturation.value,
                "is_signed": int(self.signed),
            },
        )

    def shown(self, row: Sequence[int], path: str) -> Shown:
        """Return the control and the accumulator of the lane that differs, or all of them."""
        lane = path.rpartition(".")[2]
        numbers = row[int(lane) :][:1] if path.startswith("vector") and lane.isdigit() else row
        operands = {"control": f"{self.bin}, shift {self.shift}", "accumulator": ", ".join(map(str, numbers))}
        return Shown(operands=operands, formats={"vector": Integer(self.out_bits, signed=self.signed)})

    def count(self, lanes: int) -> int:
        """Return the accumulators that ``lanes`` lanes of 32 bits hold."""
        return lanes * 32 // self.acc_bits


def srs_golden(ask: SrsAsk, acc: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the results of int64 accumulators, and True for each that overflows."""
    results, flags = with_lane_flags(
        aie.srs,
        acc,
        ask.shift,
        acc_bits=ask.acc_bits,
        out_bits=ask.out_bits,
        rounding=ask.rounding,
        saturate=ask.saturation,
        signed=ask.signed,
    )
    return results, flags["overflow"]


def srs_requests(ask: SrsAsk, acc: np.ndarray, lanes: int) -> list[Request]:
    """Return requests of int64 accumulators, padded with zeros, and the expected vectors."""
    count = ask.count(lanes)
    rows = np.zeros(-(-len(acc) // count) * count, np.int64)
    rows[: len(acc)] = acc
    rows = rows.reshape(-1, count)
    results, overflow = srs_golden(ask, rows)
    given, taken = rows.astype(f"i{ask.acc_bits // 8}"), results.astype(f"i{ask.out_bits // 8}")
    request, result, control = srs_request(lanes), srs_result(lanes), ask.control
    return [
        Request(
            pack(request, {"acc": array_bits(row), "control": control}),
            pack(result, {"vector": array_bits(vector), "overflow": int(any_overflow)}),
            partial(ask.shown, row.tolist()),
        )
        for row, vector, any_overflow in zip(given, taken, overflow.any(axis=1).tolist(), strict=True)
    ]


KINDS = [
    SrsAsk(*mode, rounding=code, saturation=saturation, signed=signed)
    for mode, code, saturation, signed in product(MODES, RoundingCode, Saturation, (False, True))
]
"""All combinations of control fields other than the shift."""


def random_srs(kind: SrsAsk, source: Random, lanes: int) -> list[Request]:
    """Return a random request: any shift; accumulators of any size, near the limits of the result, and ties."""
    ask = replace(kind, shift=source.choice((source.choice(SRS_SHIFTS), source.randint(0, kind.out_bits))))
    return srs_requests(ask, np.array([_accumulator(ask, source) for _ in range(ask.count(lanes))]), lanes)


def _accumulator(ask: SrsAsk, source: Random) -> int:
    top = 1 << ask.acc_bits - 1
    near = 1 << ask.out_bits + source.randint(-1, 0)
    scale = 2**ask.shift if ask.shift >= 0 else 1
    kind = source.randrange(5)
    value = [
        source.getrandbits(ask.acc_bits) - top,
        source.getrandbits(source.randint(1, ask.acc_bits)) // 2,
        source.choice((-top, top - 1, 0, -1)),
        near * scale + source.choice((-scale, -scale // 2, -1, 0, 1, scale // 2)),
        source.getrandbits(ask.out_bits) * scale + scale // 2 + source.choice((-1, 0, 0, 1)),
    ][kind]
    value = source.choice((value, -value))
    return value if -top <= value < top else source.getrandbits(ask.acc_bits) - top


@dataclass(frozen=True)
class SrsCorner:
    """An accumulator, its expected result, and the expected overflow bit."""

    bin: str
    ask: SrsAsk
    acc: int
    result: int
    overflow: bool

    @property
    def holds(self) -> bool:
        """Return True if golden agrees with the corner."""
        results, overflow = srs_golden(self.ask, np.array([self.acc], np.int64))
        return (int(results[0]), bool(overflow[0])) == (self.result, self.overflow)


def srs_corners() -> list[SrsCorner]:
    return [each for maker in (_limits, _carries, _ties, _left, _far) for mode in MODES for each in maker(*mode)]


def _limits(acc_bits: int, out_bits: int) -> Iterator[SrsCorner]:
    """The largest and smallest results, and one beyond each, in every saturation mode."""
    top, whole = 1 << out_bits - 1, 1 << out_bits
    rows = [
        # Accumulator, signed, result of NONE, SATURATE and SYMMETRIC.
        (top - 1, True, top - 1, top - 1, top - 1),
        (top, True, -top, top - 1, top - 1),
        (1 - top, True, 1 - top, 1 - top, 1 - top),
        (-top, True, -top, -top, 1 - top),
        (-top - 1, True, top - 1, -top, 1 - top),
        (whole - 1, False, whole - 1, whole - 1, whole - 1),
        (whole, False, 0, whole - 1, whole - 1),
        (-1, False, whole - 1, 0, 0),
        (0, False, 0, 0, 0),
    ]
    for acc, signed, *results in rows:
        for saturation, result in zip(Saturation, results, strict=True):
            ask = SrsAsk(acc_bits, out_bits, 0, saturation=saturation, signed=signed)
            name = f"{acc_bits} to {out_bits}/{acc}/{saturation.name}/{'signed' if signed else 'unsigned'}"
            yield SrsCorner(name, ask, acc, result, result != acc)


def _carries(acc_bits: int, out_bits: int) -> Iterator[SrsCorner]:
    """Numbers that exceed a limit only after rounding, and must saturate."""
    top = 1 << out_bits - 1
    for saturation, results in (
        (Saturation.NONE, (-top, top - 1)),
        (Saturation.SATURATE, (top - 1, -top)),
        (Saturation.SYMMETRIC, (top - 1, 1 - top)),
    ):
        for acc, result, rounding in (
            (2 * top - 1, results[0], RoundingCode.POSITIVE_INF),
            (-2 * top - 1, results[1], RoundingCode.NEGATIVE_INF),
        ):
            ask = SrsAsk(acc_bits, out_bits, 1, rounding, saturation)
            yield SrsCorner(f"{acc_bits} to {out_bits}/carry of {acc}/{saturation.name}", ask, acc, result, True)


ROUNDED = {
    # 2.25, 2.5, 2.75, 3.5 and their negatives.
    RoundingCode.FLOOR: (2, 2, 2, 3, -3, -3, -3, -4),
    RoundingCode.CEIL: (3, 3, 3, 4, -2, -2, -2, -3),
    RoundingCode.SYMMETRIC_FLOOR: (2, 2, 2, 3, -2, -2, -2, -3),
    RoundingCode.SYMMETRIC_CEIL: (3, 3, 3, 4, -3, -3, -3, -4),
    RoundingCode.NEGATIVE_INF: (2, 2, 3, 3, -2, -3, -3, -4),
    RoundingCode.POSITIVE_INF: (2, 3, 3, 4, -2, -2, -3, -3),
    RoundingCode.SYMMETRIC_ZERO: (2, 2, 3, 3, -2, -2, -3, -3),
    RoundingCode.SYMMETRIC_INF: (2, 3, 3, 4, -2, -3, -3, -4),
    RoundingCode.CONV_EVEN: (2, 2, 3, 4, -2, -2, -3, -4),
    RoundingCode.CONV_ODD: (2, 3, 3, 3, -2, -3, -3, -3),
}
QUARTERS = (9, 10, 11, 14, -9, -10, -11, -14)


def _ties(acc_bits: int, out_bits: int) -> Iterator[SrsCorner]:
    """Every rounding code below, at and above the midpoint, at a small shift and at the largest possible one."""
    for shift in (2, acc_bits - 5):
        for rounding, results in ROUNDED.items():
            for quarters, result in zip(QUARTERS, results, strict=True):
                ask = SrsAsk(acc_bits, out_bits, shift, rounding, Saturation.SATURATE)
                name = f"{acc_bits} to {out_bits}/{quarters}/4 by {shift}/{rounding.name}"
                yield SrsCorner(name, ask, quarters << shift - 2, result, False)


def _left(acc_bits: int, out_bits: int) -> Iterator[SrsCorner]:
    """Left shifts to a limit and past it."""
    top = 1 << out_bits - 1
    for shift in range(SRS_SHIFTS.start, 0):
        for sign, name in PLUS_MINUS:
            fits = (top >> -shift) - 1
            ask = SrsAsk(acc_bits, out_bits, shift, RoundingCode.CEIL, Saturation.SATURATE)
            where = f"{acc_bits} to {out_bits}/left {-shift}/{name}"
            yield SrsCorner(f"{where}/fits", ask, sign * fits, sign * fits << -shift, False)
            limit = top - 1 if sign > 0 else -top
            yield SrsCorner(f"{where}/does not", ask, sign * (fits + 2), limit, True)
            extreme = -(1 << acc_bits - 1) if sign < 0 else (1 << acc_bits - 1) - 1
            yield SrsCorner(f"{where}/extreme", ask, extreme, limit, True)
            drops = SrsAsk(acc_bits, out_bits, shift, RoundingCode.CEIL, Saturation.NONE)
            low = extreme << -shift & (1 << out_bits) - 1
            yield SrsCorner(f"{where}/drops", drops, extreme, low - (low >> out_bits - 1 << out_bits), True)


def _far(acc_bits: int, out_bits: int) -> Iterator[SrsCorner]:
    """The largest shift, and the smallest that discards all bits: sign and midpoint still decide the rounding."""
    lowest = -(1 << acc_bits - 1)
    for shift in sorted({acc_bits - 1, min(acc_bits, SRS_SHIFTS.stop - 1), SRS_SHIFTS.stop - 1}):
        whole = -1 if shift < acc_bits else 0  # the lowest number gives -1, or at most half of it
        for rounding, small in (
            (RoundingCode.FLOOR, -1),
            (RoundingCode.SYMMETRIC_FLOOR, 0),
            (RoundingCode.CONV_EVEN, 0),
        ):
            ask = SrsAsk(acc_bits, out_bits, shift, rounding, Saturation.SATURATE)
            where = f"{acc_bits} to {out_bits}/right {shift}/{rounding.name}"
            yield SrsCorner(f"{where}/-1", ask, -1, small, False)
            yield SrsCorner(f"{where}/lowest", ask, lowest, min(whole, small), False)
        ask = SrsAsk(acc_bits, out_bits, shift, RoundingCode.CEIL, Saturation.SATURATE)
        yield SrsCorner(f"{acc_bits} to {out_bits}/right {shift}/CEIL/1", ask, 1, 1, False)
