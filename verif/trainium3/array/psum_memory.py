"""Tiles that TensorE's slots write to PSUM, and golden's PSUM beside the unit.

The unit's bank b is golden's bank b, and its partition c golden's partition 32 * c, so that any set of partitions may be written.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import ml_dtypes
import numpy as np

from bitpath.golden.trainium3.declarations.memory import PSUM_BANK_BYTES
from bitpath.golden.trainium3.declarations.quad_mx import ACCUMULATES, QUADRANT
from bitpath.golden.trainium3.memory.access_pattern import AccessPattern
from bitpath.golden.trainium3.memory.memory import Psum
from bitpath.rtl.trainium3.array.psum_memory import PsumMemoryConfig, psum_access, psum_command
from bitpath.rtl.trainium3.faults import Fault
from bitpath.verif.common.fp32 import numbers as fp32
from bitpath.verif.kit.packing import pack

MODES = {
    "fp32": (2, False, False),
    "bf16_rne": (1, False, False),
    "bf16_sr": (1, True, False),
    "bits16": (1, False, True),
    "bits32": (2, False, True),
}
"""Size, stochastic and store of each way to write a result."""
EVERY_MODE = MODES | {"fp32_sr": (2, True, False)}
"""With the one that is refused."""
GROUPS = ([3], [1, 2], [1, 0, 2], [6], [4, 2], [4, 0, 2])
"""Flags of whole accumulation groups."""


@dataclass(frozen=True)
class Tile:
    """A lane's command; pairs are outermost first, in elements of its bank."""

    pairs: Sequence[tuple[int, int]]
    offset: int
    bank: int
    mode: str
    columns: int
    flag: int = 3
    size: int | None = None

    def command(self, config: PsumMemoryConfig) -> int:
        size, stochastic, store = EVERY_MODE[self.mode]
        pairs = [{"step": step, "num": num} for step, num in reversed(self.pairs)]
        fields = {
            "pairs": pairs + [{"step": 0, "num": 1}] * (4 - len(pairs)),
            "offset": self.offset,
            "size": size if self.size is None else self.size,
            "bank": self.bank,
            "flag": self.flag,
            "stochastic": stochastic,
            "store": store,
            "columns": self.columns,
        }
        return pack(psum_command(config), fields)

    @property
    def dtype(self) -> np.dtype:
        size, _, store = EVERY_MODE[self.mode]
        return np.dtype((np.uint16, np.uint32)[size - 1] if store else (ml_dtypes.bfloat16, np.float32)[size - 1])

    @property
    def stochastic(self) -> bool:
        return MODES[self.mode][1]

    def fault(self, config: PsumMemoryConfig) -> Fault:
        size, stochastic, store = EVERY_MODE[self.mode]
        size = size if self.size is None else self.size
        if not store and self.flag not in ACCUMULATES:
            return Fault.OPERATION
        if size in (0, 3) or (stochastic and size == 2 and not store):
            return Fault.DTYPE
        if any(num == 0 for _, num in self.pairs):
            return Fault.NUM
        try:
            end = self._pattern().end()
        except ValueError:
            return Fault.RANGE
        return Fault.RANGE if end > config.bank_bytes else Fault.NONE

    def elements(self) -> list[int]:
        """Elements of the bank in the order of the results."""
        return (self._pattern().byte_offsets().ravel() // self.dtype.itemsize).tolist()

    def _pattern(self) -> AccessPattern:
        return AccessPattern(self.dtype, 0, 1, self.offset, self.pairs)


def random_tile(config: PsumMemoryConfig, rng: Random, words: range, mode: str, flag: int = 3) -> Tile:
    """Return a tile in these words of some bank, each element once."""
    halves = 2 if MODES[mode][0] == 1 else 1
    places = range(words.start * halves, words.stop * halves)
    while True:
        pairs = [(rng.choice((-2, -1, 1, 1, 2, 3, 4)), rng.randint(1, 4)) for _ in range(rng.randint(1, 4))]
        tile = Tile(pairs, 0, rng.randrange(config.banks), mode, rng.randrange(1, 1 << config.cols), flag)
        low, high = (sum(f(0, step * (num - 1)) for step, num in pairs) for f in (min, max))
        room = len(places) - 1 - (high - low)
        if room >= 0:
            tile = Tile(pairs, places.start - low + rng.randint(0, room), tile.bank, mode, tile.columns, flag)
            if len(set(tile.elements())) == len(tile.elements()):
                return tile


def random_command(config: PsumMemoryConfig, rng: Random) -> int:
    """Return a legal command, or random bits, which are mostly refused."""
    if rng.random() < 0.3:
        return rng.getrandbits(psum_command(config).size)
    return random_tile(config, rng, range(config.psum.bank_depth), rng.choice(list(MODES))).command(config)


def random_values(config: PsumMemoryConfig, rng: Random) -> tuple[int, ...]:
    return tuple(fp32.mixed(rng) for _ in range(config.cols))


@dataclass(frozen=True)
class Access:
    """An access of an engine."""

    bank: int
    index: int
    write: bool = False
    values: tuple[int, ...] = ()
    mask: int = 0
    columns: int = 0

    def payload(self, config: PsumMemoryConfig) -> int:
        fields = {
            "values": list(self.values),
            "address": {"index": self.index, "bank": self.bank},
            "mask": self.mask,
            "columns": self.columns,
            "write": self.write,
        }
        return pack(psum_access(config), fields)


def random_access(config: PsumMemoryConfig, rng: Random, words: range) -> Access:
    """Return a read or a write of some bytes, half of them whole words."""
    place = (rng.randrange(config.banks), rng.choice(words))
    if rng.getrandbits(1):
        return Access(*place)
    values = tuple(rng.getrandbits(32) for _ in range(config.cols))
    if rng.getrandbits(1):
        return Access(*place, True, values, 0b1111, (1 << config.cols) - 1)
    return Access(*place, True, values, rng.randrange(16), rng.randrange(1 << config.cols))


class Model:
    """Golden's PSUM."""

    def __init__(self, config: PsumMemoryConfig):
        self._psum = Psum()
        self._columns = range(config.cols)

    def result(self, tile: Tile, element: int, values: Sequence[int], random: Sequence[int]) -> None:
        at = tile.bank * PSUM_BANK_BYTES // tile.dtype.itemsize + element
        for column in self._columns:
            if not tile.columns >> column & 1:
                continue
            ap = AccessPattern(tile.dtype, QUADRANT * column, 1, at, [(1, 1)])
            code = values[column]
            if MODES[tile.mode][2]:
                low = code & (1 << 8 * tile.dtype.itemsize) - 1
                self._psum.write(ap, np.array([[low]], tile.dtype))
            else:
                rounding = "sr" if tile.stochastic else "rne"
                bits = np.array([[random[column]]], np.uint16) if tile.stochastic else None
                incoming = np.array([[code]], np.uint32)
                self._psum.accumulate(ap, incoming, flag=tile.flag, rounding=rounding, random_bits=bits)

    def access(self, access: Access) -> list[int]:
        """Do an engine's access; return the words that a read gives."""
        found = []
        for column in self._columns:
            byte = access.bank * PSUM_BANK_BYTES + 4 * access.index
            if not access.write:
                ap = AccessPattern(np.uint32, QUADRANT * column, 1, byte // 4, [(1, 1)])
                found.append(int(self._psum.read(ap)[0, 0]))
            elif access.columns >> column & 1:
                for i in range(4):
                    if access.mask >> i & 1:
                        ap = AccessPattern(np.uint8, QUADRANT * column, 1, byte + i, [(1, 1)])
                        self._psum.write(ap, np.array([[access.values[column] >> 8 * i & 0xFF]], np.uint8))
        return found
