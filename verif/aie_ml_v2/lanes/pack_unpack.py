"""Cases of PACK and UNPACK, with golden's results."""

from dataclasses import dataclass
from functools import partial
from itertools import product
from random import Random

import numpy as np

from bitpath.golden import aie_ml_v2 as aie
from bitpath.golden.aie_ml_v2.declarations.codes import PACK_BITS, Saturation
from bitpath.rtl.aie_ml_v2.lanes.layouts import WIDE_BITS, PackConfig, PackControl, pack_request
from bitpath.rtl.aie_ml_v2.lanes.pack_unpack import PackUnpack
from bitpath.verif.aie_ml_v2.lanes.bench import Case, Cases
from bitpath.verif.kit.mismatches import Shown
from bitpath.verif.kit.packing import pack


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


class PackCases(Cases):
    """Cases of the unit; directed ones are every element of 8 bits, and those of 16 bits that are next to a limit or have one
    bit.

    Parameters
    ----------
    config : number of lanes.
    """

    latency = 1

    def __init__(self, config: PackConfig):
        self.unit = PackUnpack(config)
        self.bytes = WIDE_BITS // 8 * config.lanes
        self.bins = self.kinds = tuple(ask.bin for ask in ASKS)
        self._request = pack_request(config.lanes)

    def case(self, ask: Ask, word: bytes, result: bytes | None = None) -> Case:
        """Return the case of a register and of its result, None for golden's."""
        request = {"data": int.from_bytes(word, "little"), "control": ask.control}
        expected = int.from_bytes(ask.result(word) if result is None else result, "little")
        return Case(pack(self._request, request), expected, partial(self._shown, ask, word), (ask.bin,))

    @staticmethod
    def _shown(ask: Ask, word: bytes, _: str) -> Shown:
        return Shown(operands={"control": ask.bin, "bytes": word.hex(" ")})

    def words(self, elements: np.ndarray) -> list[bytes]:
        """Return elements in registers, the last one filled up with them."""
        raw = elements.tobytes()
        return [(raw + raw)[start : start + self.bytes] for start in range(0, len(raw), self.bytes)]

    def directed(self, rng: Random) -> list[Case]:
        near = {
            base + step & 0xFFFF
            for base in (0, 127, 128, 255, 0x7FFF, 0x8000, 0xFF00, 0xFF7F)
            for step in (-2, -1, 0, 1, 2)
        }
        wide = np.array([*sorted(near), *(1 << k for k in range(16)), *(0xFFFF ^ 1 << k for k in range(16))], "<u2")
        numbers = {(False, 8): wide}
        every = np.arange(256, dtype=np.uint8)
        cases = []
        for ask in ASKS:
            for word in self.words(numbers.get((ask.unpack, ask.bits), every)):
                # UNPACK reads the lower half alone.
                half = self.bytes // 2
                cases += [self.case(ask, word)]
                cases += [self.case(ask, word[half:] + word[:half])] if ask.unpack else []
        return cases

    def random(self, rng: Random, count: int) -> list[Case]:
        asks = [*rng.sample(ASKS, min(count, len(ASKS))), *rng.choices(ASKS, k=max(0, count - len(ASKS)))]
        return [self.case(ask, self._word(rng)) for ask in asks]

    def _word(self, rng: Random) -> bytes:
        """Return bytes of which many extend the sign of the one below, so that elements fit now and then."""
        word = bytearray(rng.randbytes(self.bytes))
        for k in range(1, self.bytes, 2):
            if rng.random() < 0.5:
                word[k] = 255 if word[k - 1] & 128 else 0
        return bytes(word)
