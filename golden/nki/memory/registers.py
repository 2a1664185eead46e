"""Registers of 32 bits, which steer dynamic loops and addresses."""

from dataclasses import dataclass

from bitpath.golden.nki.declarations.errors import invalid


@dataclass(eq=False)
class VirtualRegister:
    """A register. Its truth is its value, so that ``while register:`` ends when it is 0.

    Attributes
    ----------
    value : signed 32 bits.
    frozen : True for a loop's variable, which nothing else may write.
    """

    value: int = 0
    frozen: bool = False

    def write(self, value: int) -> None:
        """Keep the low 32 bits, as a signed number."""
        if self.frozen:
            raise invalid("a loop's variable must not be written")
        self.value = (int(value) + (1 << 31)) % (1 << 32) - (1 << 31)

    def __bool__(self) -> bool:
        return bool(self.value)

    def __index__(self) -> int:
        return self.value

    def __int__(self) -> int:
        return self.value
