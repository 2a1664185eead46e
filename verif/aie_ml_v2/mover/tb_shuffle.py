"""Bench of the shuffle unit: routes of every code, unknown codes, random registers at any pace, latency, resets.

Expected values come from golden before anything is driven. ``BITPATH_CASES`` sets the random requests of a test, and
four times as many of the 11,136 one-hot ones.
"""

from collections.abc import Sequence
from functools import partial
from random import Random

import numpy as np

from bitpath.golden import aie_ml_v2 as aie
from bitpath.golden.aie_ml_v2.declarations.codes import MX6
from bitpath.golden.aie_ml_v2.declarations.mover import SHUFFLE_CODES
from bitpath.rtl.aie_ml_v2.mover.layouts import Fex, ShuffleConfig, ShuffleRequest
from bitpath.rtl.aie_ml_v2.mover.shuffle import Shuffle
from bitpath.verif.kit import pauses
from bitpath.verif.kit.mismatches import Shown
from bitpath.verif.kit.packing import pack, row_bits
from bitpath.verif.kit.pipeline import Made, Request, StreamBench
from bitpath.verif.kit.testplan import covers

PARTS = {"x": 64, "e": 8, "g": 8, "f": 16}
"""Bytes of the parts of a FEX register."""
BYTES = sum(PARTS.values())
SHARE_BITS = 64
"""Bits of the narrowest field with bits of E, G and F."""
CODES = list(SHUFFLE_CODES)


def golden(code: int, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return what registers of 96 bytes give, uint8 [n, 96]: X, E, G and F."""
    mode = SHUFFLE_CODES[code]
    if mode.bits < SHARE_BITS:
        x = (side[:, : PARTS["x"]] for side in (low, high))
        moved = aie.shuffle(next(x), None if mode.half is None else next(x), mode=code)
        return np.concatenate([moved, np.zeros((len(low), BYTES - PARTS["x"]), np.uint8)], axis=1)
    registers = [_mx(side) for side in (low, high)]
    got = aie.shuffle_mx(registers[0], None if mode.half is None else registers[1], mode=code)
    return np.concatenate([got.data, got.e, got.g, got.f], axis=1)


def _mx(rows: np.ndarray) -> aie.MxRegisters:
    return aie.MxRegisters(MX6, **{"data" if name == "x" else name: part for name, part in parts_of(rows).items()})


def parts_of(rows: np.ndarray) -> dict[str, np.ndarray]:
    """Return the parts of registers, uint8 [n, 96]."""
    return dict(zip(PARTS, np.split(rows, np.cumsum(list(PARTS.values()))[:-1], axis=1), strict=True))


def shuffle_requests(code: int, low: np.ndarray, high: np.ndarray, expected: np.ndarray | None = None) -> list[Request]:
    """Requests of registers, uint8 [n, 96], and what must come, golden's where it is not given."""
    expected = golden(code, low, high) if expected is None else expected
    name = SHUFFLE_CODES[code].name if code in SHUFFLE_CODES else str(code)
    sides = [_fields(each) for each in (low, high, expected)]
    return [
        Request(
            pack(ShuffleRequest, {"code": code, "low": first, "high": second}),
            pack(Fex, result),
            partial(_shown, name, first, second),
        )
        for first, second, result in zip(*sides, strict=True)
    ]


def _fields(rows: np.ndarray) -> list[dict[str, int]]:
    parts = {name: row_bits(part) for name, part in parts_of(rows).items()}
    return [dict(zip(parts, row, strict=True)) for row in zip(*parts.values(), strict=True)]


def _shown(name: str, low: dict[str, int], high: dict[str, int], _: str) -> Shown:
    registers = {
        f"{side} {part}": f"{bits:#x}"
        for side, register in (("low", low), ("high", high))
        for part, bits in register.items()
    }
    return Shown(operands={"mode": name} | registers)


def numbered() -> tuple[np.ndarray, np.ndarray]:
    """Return registers whose bytes are all different, and their complements."""
    numbers = np.arange(2 * BYTES, dtype=np.uint8)
    rows = np.stack([numbers, ~numbers])
    return rows[:, :BYTES], rows[:, BYTES:]


def one_hot() -> tuple[np.ndarray, np.ndarray]:
    """Return registers with one byte of ones among zeros, one for each byte of both."""
    rows = np.eye(2 * BYTES, dtype=np.uint8) * np.uint8(255)
    return rows[:, :BYTES], rows[:, BYTES:]


def random_registers(source: Random, count: int = 1) -> tuple[np.ndarray, np.ndarray]:
    low, high = (np.frombuffer(source.randbytes(count * BYTES), np.uint8).reshape(count, BYTES) for _ in "ab")
    return low, high


def draw(codes: Sequence[int], rng: Random) -> list[Request]:
    return [each for code in codes for each in shuffle_requests(code, *random_registers(rng))]


BENCH = StreamBench(__name__, ShuffleConfig, Shuffle, CODES, draw, lambda code: (SHUFFLE_CODES[code].name,))
random_requests, latency, resets = BENCH.tests()
covers(
    "shuffle.stream",
    "Each request carries its own code",
    "Any registers, every code in any order, full speed, gaps, stalls and both; latency; resets",
    random_requests,
    latency,
    resets,
)


@covers("shuffle.routes", "A route is proved when each byte arrives once and nowhere else")
@BENCH.sweep()
def routes() -> Made:
    """Every code on bytes that are all different and on their complements; one byte of ones in each place of X, E, G
    and F of both registers."""
    return [each for code in CODES for each in shuffle_requests(code, *numbered())]


@covers("shuffle.routes")
@BENCH.sweep()
def one_hot_bytes() -> Made:
    """Every code on registers with one byte of ones: each byte of X, E, G and F arrives once, and nowhere else."""
    requests = [each for code in CODES for each in shuffle_requests(code, *one_hot())]
    return pauses.rng("requests").sample(requests, min(len(requests), 4 * BENCH.cases))


@covers("shuffle.unknown", "A part of the code alone must not choose a mode")
@BENCH.sweep()
def unknown_codes() -> Made:
    """The 70 codes without a mode give zeros."""
    rng, nothing = pauses.rng("requests"), np.zeros((1, BYTES), np.uint8)
    codes = sorted(set(range(128)) - set(CODES))
    return [each for code in codes for each in shuffle_requests(code, *random_registers(rng), nothing)]
