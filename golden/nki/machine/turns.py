"""Two cores that run by turns: a core runs until it waits for the other, so that every run is the same."""

import threading
from typing import Any

from bitpath.golden.nki.declarations.errors import invalid


class Stopped(BaseException):
    """The other core has failed, and this one stops with it."""


class Turns:
    """Hands the turn from core to core at their meetings; core 0 begins.

    Parameters
    ----------
    cores : number of cores.
    """

    def __init__(self, cores: int):
        self._turn = [threading.Semaphore(int(core == 0)) for core in range(cores)]
        self._offers: dict[int, tuple[Any, Any]] = {}
        self._done: set[int] = set()
        self.failed = False

    def begin(self, core: int) -> None:
        """Wait for the first turn."""
        self._wait(core)

    def end(self, core: int) -> None:
        """Give the turn away for good."""
        self._done.add(core)
        self._turn[1 - core].release()

    def meet(self, core: int, what: tuple, given: Any) -> Any:
        """Wait until the other core meets for the same; return what it gives.

        Raises NkiValidationError if it has ended, or meets for something else: neither would ever go on.
        """
        other = 1 - core
        if other in self._offers:
            their, found = self._offers[other]
            if their != what:
                raise invalid(f"{what[0]}: core {core} waits in {what} while core {other} waits in {their}")
            self._offers[core] = what, given
            self._pass(core)
            return found
        if other in self._done:
            raise invalid(f"{what[0]}: core {core} waits in {what}, and core {other} has ended")
        self._offers[core] = what, given
        self._pass(core)
        if other not in self._offers:
            raise invalid(f"{what[0]}: core {core} waits in {what}, and core {other} has ended")
        found = self._offers[other][1]
        self._offers.clear()
        return found

    def _pass(self, core: int) -> None:
        self._turn[1 - core].release()
        self._wait(core)

    def _wait(self, core: int) -> None:
        self._turn[core].acquire()
        if self.failed:
            raise Stopped
