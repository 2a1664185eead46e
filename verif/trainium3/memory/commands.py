"""Commands for a unit that walks memory, the answers that golden gives to them, and its sticky error."""

from collections.abc import Iterable
from typing import Any, ClassVar

from cocotb.triggers import FallingEdge, RisingEdge

from bitpath.verif.kit.unit_bench import PACES, Bench, resolved


class Commands:
    """Sends commands and expects golden's answers; a bench has a subclass.

    Attributes
    ----------
    errors : the unit's error codes.
    config : its configuration.
    """

    errors: ClassVar[Any]
    config: ClassVar[Any]

    def __init__(self, frame: Bench, pace: str = "full_speed"):
        gaps, stalls = (make() for make in PACES[pace])
        self.frame, self.dut = frame, frame.dut
        self.driver = frame.driver("i", gaps)
        self.board = frame.check_stream("o", stalls=stalls)

    def answers(self, command: Any) -> Iterable[int]:
        """Return the payloads that must come."""
        raise NotImplementedError

    async def play(self, commands: Iterable[Any]) -> None:
        """Send commands and wait until the unit is empty."""
        for command in commands:
            for answer in self.answers(command):
                self.board.expect(answer, str(command))
            self.driver.send_bits(command.command(self.config))
        await self.driver.drained()
        await FallingEdge(self.dut.clk)
        while resolved(self.dut.busy):
            await FallingEdge(self.dut.clk)
        await RisingEdge(self.dut.clk)

    async def fault(self) -> Any:
        """Return the error that the unit shows."""
        await FallingEdge(self.dut.clk)
        found = self.errors(resolved(self.dut.fault))
        await RisingEdge(self.dut.clk)
        return found

    async def clear(self) -> None:
        self.dut.clear.value = 1
        await RisingEdge(self.dut.clk)
        self.dut.clear.value = 0
        assert await self.fault() is self.errors.NONE
