"""Model of the banks of SrcA or SrcB: which fill an instruction reads, and which moves leave the next one a bank."""

from dataclasses import dataclass, field

ALL_MOVES = ((False, False), (False, True), (True, False), (True, True))
"""Release and flip of an instruction: stay, hold, give back and wait there, hand over."""


@dataclass
class Banks:
    """Two banks, which the unpacker fills in turn; fill k goes to bank k % 2 when that was released k // 2 times."""

    bank: int = 0
    released: list[int] = field(default_factory=lambda: [0, 0])

    @property
    def fill(self) -> int:
        """Number of the fill that the next instruction reads."""
        return 2 * self.released[self.bank] + self.bank

    def after(self, release: bool, flip: bool) -> "Banks":
        """Return the banks after an instruction."""
        found = Banks(self.bank, list(self.released))
        found.move(release, flip)
        return found

    def allows(self, release: bool, flip: bool) -> bool:
        """Return True if an instruction may move so: the next one's fill must not wait for a later release."""
        after = self.after(release, flip)
        # The fill before goes to the other bank, which must have been released as often as that takes.
        return after.released[1 - after.bank] >= after.released[after.bank] - (1 - after.bank)

    @property
    def waits(self) -> bool:
        """Return True if the unpacker waits to fill a bank again before one that the Matrix unit holds."""
        return self.released[0] - self.released[1] not in (0, 1)

    def move(self, release: bool, flip: bool) -> None:
        self.released[self.bank] += release
        self.bank ^= flip
