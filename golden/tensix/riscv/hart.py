"""A baby RISC-V core: registers, program counter, and code that is decoded once."""

from collections.abc import Callable

from bitpath.golden.tensix.riscv.instructions import MASK, SINK, Bus, Decoder, Ended, Step, Waiting

RETURN = MASK & ~3
"""Address that ends the program where it returns to; ra holds it at first."""
WORD = 4


class Hart:
    """A core that executes from an address on, an instruction at a time.

    Parameters
    ----------
    name : in errors.
    pc, stack : address of the first instruction, and the value of sp.

    Attributes
    ----------
    x : registers x0 to x31, and one that takes results for x0.
    executed : number of instructions.
    waiting : the access that the hart waits for, or None.
    ended : True after ecall, ebreak, a jump to itself, or the return from the program.
    """

    def __init__(self, bus: Bus, name: str = "hart", pc: int = 0, stack: int = 0):
        self.name, self.pc = name, pc
        self.x = [0] * (SINK + 1)
        self.x[1], self.x[2] = RETURN, stack
        self.executed = 0
        self.waiting: str | None = None
        self.ended = False
        decoder = Decoder(self.x, bus)
        self.code = _Code(lambda address: decoder.step(bus.load(address, WORD), address))

    def run(self, limit: int) -> int:
        """Execute at most `limit` instructions, until the hart waits or ends, and return their number.

        Raises
        ------
        ValueError : an instruction or an access that is not modelled; it names the hart and the instruction's address.
        """
        code, pc, count = self.code, self.pc, 0
        self.waiting = None
        try:
            while count < limit:
                pc = code[pc]()
                count += 1
        except Waiting as wait:
            self.waiting = str(wait)
        except Ended:
            self.ended = True
        except ValueError as error:
            raise type(error)(f"{self.name}, instruction at {pc:#010x}: {error}") from None
        self.pc = pc
        self.executed += count
        return count


class _Code(dict[int, Step]):
    """Decoded instructions by address."""

    def __init__(self, decode: Callable[[int], Step]):
        super().__init__()
        self._decode = decode

    def __missing__(self, address: int) -> Step:
        if address == RETURN:
            raise Ended
        if address % WORD:
            raise ValueError(f"the address of an instruction must be a multiple of {WORD}, not {address:#010x}")
        self[address] = step = self._decode(address)
        return step
