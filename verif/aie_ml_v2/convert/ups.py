"""Requests for UPS with golden's results, and directed corners.

A corner's bin counts as hit only where golden gives the result that is stated.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from random import Random

import numpy as np

from bitpath.golden import aie_ml_v2 as aie
from bitpath.golden.aie_ml_v2.declarations.codes import UPS_MODES, UPS_SHIFTS, Saturation
from bitpath.golden.aie_ml_v2.mac.flags import with_lane_flags
from bitpath.rtl.aie_ml_v2.convert.layouts import UpsControl, vector_bits
from bitpath.rtl.aie_ml_v2.convert.ups import ups_request, ups_result
from bitpath.verif.aie_ml_v2.convert.bits import array_bits
from bitpath.verif.kit.mismatches import Shown
from bitpath.verif.kit.packing import pack
from bitpath.verif.kit.pipeline import Request
from bitpath.verif.kit.values import Integer

MODES = [(acc, vector) for acc, vectors in UPS_MODES.items() for vector in vectors]


@dataclass(frozen=True)
class UpsAsk:
    """Control of a request, in golden's terms."""

    acc_bits: int
    vector_bits: int
    shift: int = 0
    saturation: Saturation = Saturation.NONE
    signed: bool = True

    @property
    def bin(self) -> str:
        """Name of the coverage bin, without the shift."""
        sign = "signed" if self.signed else "unsigned"
        return f"{self.vector_bits} to {self.acc_bits}/{self.saturation.name}/{sign}"

    @property
    def control(self) -> int:
        """Return the control's payload."""
        return pack(
            UpsControl,
            {
                "acc64": int(self.acc_bits == 64),
                "wide": UPS_MODES[self.acc_bits].index(self.vector_bits),
                "shift": self.shift,
                "saturation": self.saturation.value,
                "is_signed": int(self.signed),
            },
        )

    def shown(self, row: Sequence[int], path: str) -> Shown:
        """Return the control and the number of the lane that differs, or all of them."""
        lane = path.rpartition(".")[2]
        numbers = row[int(lane) :][:1] if path.startswith("acc") and lane.isdigit() else row
        operands = {"control": f"{self.bin}, shift {self.shift}", "number": ", ".join(map(str, numbers))}
        return Shown(operands=operands, formats={"acc": Integer(self.acc_bits, signed=True)})

    def count(self, lanes: int) -> int:
        """Return the accumulators that ``lanes`` lanes of 32 bits hold."""
        return lanes * 32 // self.acc_bits


KINDS = [
    UpsAsk(*mode, saturation=saturation, signed=signed)
    for mode, saturation, signed in product(MODES, Saturation, (False, True))
]
"""All combinations of control fields other than the shift."""


def ups_golden(ask: UpsAsk, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the accumulators of int64 vector lanes, and True for each that overflows."""
    options = {"acc_bits": ask.acc_bits, "saturate": ask.saturation, "signed": ask.signed}
    results, flags = with_lane_flags(aie.ups, x, ask.shift, **options)
    return results, flags["overflow"]


def ups_requests(ask: UpsAsk, x: np.ndarray, lanes: int, junk: Random) -> list[Request]:
    """Requests of int64 vector lanes, filled up with zeros, and the accumulators that must come; what lies above the
    vector is junk."""
    count = ask.count(lanes)
    rows = np.zeros(-(-len(x) // count) * count, np.int64)
    rows[: len(x)] = x
    rows = rows.reshape(-1, count)
    results, overflow = ups_golden(ask, rows)
    given, taken = rows.astype(f"i{ask.vector_bits // 8}"), results.astype(f"i{ask.acc_bits // 8}")
    used = count * ask.vector_bits
    unused = vector_bits(lanes) - used
    request, result, control = ups_request(lanes), ups_result(lanes), ask.control
    return [
        Request(
            pack(
                request,
                {
                    "vector": array_bits(vector) | (junk.getrandbits(unused) << used if unused else 0),
                    "control": control,
                },
            ),
            pack(result, {"acc": array_bits(acc), "overflow": int(any_overflow)}),
            partial(ask.shown, row.tolist()),
        )
        for row, vector, acc, any_overflow in zip(rows, given, taken, overflow.any(axis=1).tolist(), strict=True)
    ]


def random_ups(kind: UpsAsk, source: Random, lanes: int) -> list[Request]:
    """Return a random request: with any shift and numbers of any size; some just fit or just overflow."""
    ask = replace(
        kind, shift=source.choice((source.choice(UPS_SHIFTS), kind.acc_bits - source.randint(1, kind.vector_bits)))
    )
    return ups_requests(ask, np.array([_number(ask, source) for _ in range(ask.count(lanes))]), lanes, source)


def _number(ask: UpsAsk, source: Random) -> int:
    top = 1 << ask.vector_bits - ask.signed
    room = max(0, min(ask.acc_bits - 1 - ask.shift, ask.vector_bits - ask.signed))
    near = (1 << room) + source.choice((-1, 0, 1))
    value = source.choice((source.getrandbits(ask.vector_bits) % top, source.getrandbits(room), near, top - 1))
    value = -value if ask.signed and source.getrandbits(1) else value
    return value if (-top if ask.signed else 0) <= value < top else 0


@dataclass(frozen=True)
class UpsCorner:
    """A number, its expected accumulator, and the expected overflow bit."""

    bin: str
    ask: UpsAsk
    x: int
    result: int
    overflow: bool

    @property
    def holds(self) -> bool:
        """Return True if golden agrees with the corner."""
        results, overflow = ups_golden(self.ask, np.array([self.x], np.int64))
        return (int(results[0]), bool(overflow[0])) == (self.result, self.overflow)


def ups_corners() -> list[UpsCorner]:
    return [each for maker in (_limits, _signs, _beyond) for mode in MODES for each in maker(*mode)]


def _limits(acc_bits: int, vector: int) -> Iterator[UpsCorner]:
    """The largest and smallest numbers that fit after a shift, and one beyond each, in every saturation mode."""
    top = 1 << acc_bits - 1
    for shift in sorted({acc_bits - vector + 1, acc_bits - 4, acc_bits - 2, acc_bits - 1}):
        fits = top >> shift  # multiples of 2**shift up to the magnitude of the lowest accumulator
        step = 1 << shift
        rows = [
            # Number, results of NONE, SATURATE and SYMMETRIC.
            (fits - 1, top - step, top - step, top - step),
            (fits, -top, top - step, top - step),
            (1 - fits, step - top, step - top, step - top),
            (-fits, -top, -top, step - top),
        ]
        if -fits - 1 >= -(1 << vector - 1):
            rows.append((-fits - 1, top - step, -top, step - top))
        for x, *results in rows:
            if x >= 1 << vector - 1:
                continue
            for saturation, result in zip(Saturation, results, strict=True):
                ask = UpsAsk(acc_bits, vector, shift, saturation)
                overflow = result != x << shift
                yield UpsCorner(f"{vector} to {acc_bits}/{x} by {shift}/{saturation.name}", ask, x, result, overflow)


def _signs(acc_bits: int, vector: int) -> Iterator[UpsCorner]:
    """The top bit is a sign, or not."""
    ones = (1 << vector) - 1
    for shift in (0, 3):
        unsigned = UpsAsk(acc_bits, vector, shift, signed=False)
        where = f"{vector} to {acc_bits}/by {shift}"
        fits = vector + shift < acc_bits
        if fits:
            yield UpsCorner(f"{where}/all ones unsigned", unsigned, ones, ones << shift, False)
        yield UpsCorner(f"{where}/all ones signed", UpsAsk(acc_bits, vector, shift), -1, -(1 << shift), False)


def _beyond(acc_bits: int, vector: int) -> Iterator[UpsCorner]:
    """Nothing is left in 32-bit lanes from a shift of 32 on, whatever the saturation."""
    if acc_bits == max(UPS_MODES):
        return
    for shift in (acc_bits, acc_bits + 1, UPS_SHIFTS.stop - 1):
        for saturation in Saturation:
            ask = UpsAsk(acc_bits, vector, shift, saturation)
            for x in (-(1 << vector - 1), -1, 0, 1, (1 << vector - 1) - 1):
                yield UpsCorner(f"{vector} to {acc_bits}/{x} by {shift}/{saturation.name}", ask, x, 0, x != 0)
