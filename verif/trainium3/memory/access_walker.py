"""Access patterns as the walker's commands, with golden's addresses or the error that they must give."""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import numpy as np

from bitpath.golden.trainium3.memory.access_pattern import AccessPattern
from bitpath.rtl.trainium3.faults import Fault
from bitpath.rtl.trainium3.memory.access_walker import WalkConfig, walk_address, walk_command
from bitpath.verif.kit.packing import pack

DTYPES = (np.uint8, np.uint16, np.uint32)
"""Elements of each size."""
Pairs = Sequence[tuple[int, int]]
"""Step and num, outermost first."""


@dataclass(frozen=True)
class Walk:
    """A command: four pairs, outermost first, and what golden says of it."""

    pairs: Pairs
    offset: int
    size: int
    limit: int

    def command(self, config: WalkConfig) -> int:
        """The command as the port has it."""
        pairs = [{"step": step, "num": num} for step, num in reversed(self.pairs)]
        fields = {"pairs": pairs, "offset": self.offset, "size": self.size, "limit": self.limit}
        return pack(walk_command(config), fields)

    @property
    def fault(self) -> Fault:
        if self.size >= len(DTYPES):
            return Fault.DTYPE
        if any(num == 0 for _, num in self.pairs):
            return Fault.NUM
        return Fault.NONE if self.bytes is not None else Fault.RANGE

    @property
    def bytes(self) -> list[int] | None:
        """Golden's addresses, or None where it refuses the pattern or its end."""
        try:
            ap = AccessPattern(DTYPES[self.size], 0, 1, self.offset, self.pairs, dma=True)
        except ValueError:
            return None
        return ap.byte_offsets().ravel().tolist() if ap.end() <= self.limit else None

    def addresses(self, config: WalkConfig) -> list[int]:
        """The payloads that the walker must give."""
        if self.fault is not Fault.NONE:
            return []
        layout, found = walk_address(config), self.bytes
        return [pack(layout, {"byte": byte, "last": i == len(found) - 1}) for i, byte in enumerate(found)]


def inside(config: WalkConfig, pairs: Pairs, size: int, rng: Random, where: float | None = None) -> Walk | None:
    """Return a walk of these pairs somewhere in the partition, at its start (0), or at its end (1); None if too long."""
    low = sum(min(0, step * (num - 1)) for step, num in pairs)
    high = sum(max(0, step * (num - 1)) for step, num in pairs)
    elements = (1 << config.address_bits) >> size
    room = elements - 1 - (high - low)
    if room < 0:
        return None
    place = rng.randint(0, room) if where is None else int(where * room)
    return Walk(pairs, place - low, size, 1 << config.address_bits)


def random_walk(config: WalkConfig, rng: Random) -> Walk:
    """Return a walk of up to 81 addresses that stays inside, some with single elements and long inner rows."""
    while True:
        most = 1 << config.num_bits
        long = rng.random() < 0.2
        nums = [1, 1, 1, rng.randrange(1, min(most, 40))] if long else [rng.randint(1, 3) for _ in range(4)]
        if long:
            rng.shuffle(nums)
        span = 1 << config.step_bits - 1
        small = rng.random() < 0.8
        steps = [rng.randint(-4, 4) if small else rng.randrange(-span, span) for _ in nums]
        found = inside(config, list(zip(steps, nums, strict=True)), rng.randrange(3), rng)
        if found is not None:
            return found


def random_command(config: WalkConfig, rng: Random) -> int:
    """Return a legal command, or random bits, which a walker mostly rejects."""
    if rng.random() < 0.5:
        return rng.getrandbits(walk_command(config).size)
    return random_walk(config, rng).command(config)
