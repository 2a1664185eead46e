"""Bench of PACK and UNPACK: every byte, limits and single bits of 16-bit numbers, all 16-bit numbers, random registers at every
pace, latency, resets.

``BITPATH_CASES`` sets the random registers of a test, and the registers of 16-bit numbers in each mode.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from random import Random

import numpy as np

from bitpath.golden import aie_ml_v2 as aie
from bitpath.golden.aie_ml_v2.declarations.codes import PACK_BITS, Saturation
from bitpath.rtl.aie_ml_v2.lanes.layouts import WIDE_BITS, PackConfig, PackControl, pack_request
from bitpath.rtl.aie_ml_v2.lanes.pack_unpack import PackUnpack
from bitpath.verif.kit import pauses
from bitpath.verif.kit.mismatches import Shown
from bitpath.verif.kit.packing import pack
from bitpath.verif.kit.pipeline import Made, Request, StreamBench, hit
from bitpath.verif.kit.testplan import covers


@dataclass(frozen=True)
class Ask:
    """A control: direction, bits of the narrow elements, sign, saturation."""

    unpack: bool
    bits: int
    signed: bool
    saturation: Saturation

    @property
    def bin(self) -> str:
        way = f"{self.bits} to {2 * self.bits}" if self.unpack else f"{2 * self.bits} to {self.bits}"
        sign = "signed" if self.signed else "unsigned"
        return f"{way}/{sign}" if self.unpack else f"{way}/{sign}/{self.saturation.name}"

    @property
    def control(self) -> int:
        fields = {"unpack": int(self.unpack), "wide": PACK_BITS.index(self.bits), "is_signed": int(self.signed)}
        return pack(PackControl, fields | {"saturation": self.saturation.value})

    def result(self, word: bytes) -> bytes:
        """Return the register that golden makes of a register."""
        if self.unpack:
            return self._unpacked(np.frombuffer(word[: len(word) // 2], np.uint8)).ljust(len(word), b"\0")
        sign = "i" if self.signed else "u"
        elements = np.frombuffer(word, f"<{sign}{2 * self.bits // 8}")
        narrow = aie.pack(elements, bits=self.bits, saturate=self.saturation, signed=self.signed)
        if self.bits == 4:
            low, high = (narrow[k::2] & 15 for k in range(2))
            narrow = low | high << 4
        return (narrow & 255).astype(np.uint8).tobytes().ljust(len(word), b"\0")

    def _unpacked(self, half: np.ndarray) -> bytes:
        if self.bits == 4:
            return aie.unpack4(half, signed=self.signed).tobytes()
        return half.view(np.int8 if self.signed else np.uint8).astype("<i2").tobytes()


ASKS = [
    *(Ask(False, *each) for each in product(PACK_BITS, (False, True), Saturation)),
    *(Ask(True, bits, signed, Saturation.SATURATE) for bits, signed in product(PACK_BITS, (False, True))),
]
"""Every control; UNPACK does not read the saturation."""


def register_bytes() -> int:
    return WIDE_BITS // 8 * BENCH.config.lanes


def request_of(ask: Ask, word: bytes, result: bytes | None = None) -> Request:
    """Return the request of a register, and its result, None for golden's."""
    given = {"data": int.from_bytes(word, "little"), "control": ask.control}
    expected = int.from_bytes(ask.result(word) if result is None else result, "little")
    shown = Shown(operands={"control": ask.bin, "bytes": word.hex(" ")})
    return Request(pack(pack_request(BENCH.config.lanes), given), expected, lambda path: shown, (ask.bin,))


def words(elements: np.ndarray) -> list[bytes]:
    """Return elements in registers, the last one filled up with them."""
    raw, size = elements.tobytes(), register_bytes()
    return [(raw + raw)[start : start + size] for start in range(0, len(raw), size)]


def draw(asks: Sequence[Ask], rng: Random) -> list[Request]:
    return [request_of(ask, _word(rng)) for ask in asks]


def _word(rng: Random) -> bytes:
    """Return bytes; many extend the sign of the byte below, so that elements fit now and then."""
    word = bytearray(rng.randbytes(register_bytes()))
    for k in range(1, len(word), 2):
        if rng.random() < 0.5:
            word[k] = 255 if word[k - 1] & 128 else 0
    return bytes(word)


BENCH = StreamBench(__name__, PackConfig, PackUnpack, ASKS, draw, lambda ask: (ask.bin,), draws="cases")
random_cases, latency, resets = BENCH.tests("random_cases")
covers(
    "pack_unpack.stream",
    "Each request has a control of its own",
    "Every control in any order, full speed, gaps, stalls and both; latency of one cycle; resets",
    random_cases,
    latency,
    resets,
)


@covers(
    "pack_unpack.elements",
    "The symmetric range has one number less, and unsigned elements have one limit",
    "All bytes to 4 bits and to 16, all nibbles to 8, 16-bit numbers at the limits and with one bit, in every "
    "saturation, signed and unsigned; all 16-bit numbers in the deep tests",
)
@covers(
    "pack_unpack.order",
    "Elements of two widths share the lanes",
    "Random registers: every element at its place, zeros above packed ones, the upper half ignored by UNPACK",
)
@BENCH.sweep()
def directed() -> Made:
    """Every element of 8 bits, and those of 16 bits that are next to a limit or have one bit."""
    near = {
        base + step & 0xFFFF
        for base in (0, 127, 128, 255, 0x7FFF, 0x8000, 0xFF00, 0xFF7F)
        for step in (-2, -1, 0, 1, 2)
    }
    wide = np.array([*sorted(near), *(1 << k for k in range(16)), *(0xFFFF ^ 1 << k for k in range(16))], "<u2")
    every, half = np.arange(256, dtype=np.uint8), register_bytes() // 2
    made = []
    for ask in ASKS:
        for word in words(wide if (ask.unpack, ask.bits) == (False, 8) else every):
            made.append(request_of(ask, word))
            # UNPACK reads the lower half alone.
            made += [request_of(ask, word[half:] + word[:half])] if ask.unpack else []
    return made, hit(made, [ask.bin for ask in ASKS])


covers("pack_unpack.order", random_cases)


@covers("pack_unpack.elements")
@BENCH.sweep()
def every_16_bit_number() -> Made:
    """All 65,536 numbers to 8 bits in every saturation, or a sample of their registers."""
    every, rng = words(np.arange(1 << 16, dtype="<u2")), pauses.rng("registers")
    asks = [ask for ask in ASKS if (ask.unpack, ask.bits) == (False, 8)]
    return [request_of(ask, word) for ask in asks for word in rng.sample(every, min(len(every), BENCH.cases))]
