"""Counters of stream handshake events, and an observer for streams that a test drives by hand."""

from collections.abc import Callable, Mapping
from typing import ClassVar

Look = Callable[[], int]
"""Function that reads signals and returns nonzero if their condition holds."""


class Handshakes:
    """Counters of the handshake events at one end of a stream.

    Parameters
    ----------
    valid, ready : True if the stream has that signal; an always-valid stream has no gaps.

    Attributes
    ----------
    EVENTS : names of the events in coverage, with the signal that each requires.
    events : count of each possible event.
    transferred : number of payloads transferred.
    """

    EVENTS: ClassVar[Mapping[str, str]]

    def __init__(self, *, valid: bool, ready: bool):
        has = {"valid": valid, "ready": ready, "": True}
        self.events = dict.fromkeys((event for event, signal in self.EVENTS.items() if has[signal]), 0)
        self.transferred = 0

    def _count(self, event: str) -> None:
        if event in self.events:
            self.events[event] += 1


class Sent(Handshakes):
    """Events at an input stream of the design."""

    EVENTS: ClassVar[Mapping[str, str]] = {"gap": "valid", "taken at once": "", "taken late": "ready"}
    _gap = _late = False

    def see(self, valid: int, ready: int) -> None:
        if valid and ready:
            self.taken(gap=self._gap, late=self._late)
        self._gap = not valid or (self._gap and not ready)
        self._late = bool(valid and not ready)

    def taken(self, *, gap: bool, late: bool) -> None:
        """Count a transferred payload; the flags say if a pause preceded it and if it stalled."""
        # Only between two payloads: every stream is empty before the first and after the last.
        if gap and self.transferred:
            self._count("gap")
        self._count("taken late" if late else "taken at once")
        self.transferred += 1


class Received(Handshakes):
    """Events at an output stream of the design."""

    EVENTS: ClassVar[Mapping[str, str]] = {"stalled": "ready", "nothing offered": "valid", "back to back": ""}
    _moved = _empty = False

    def see(self, valid: int, ready: int) -> None:
        if not valid:
            self._empty = self.transferred > 0
        elif not ready:
            self._count("stalled")
        elif self._moved:
            self._count("back to back")
        self._moved = bool(valid and ready)
        if self._moved:
            if self._empty:
                self._count("nothing offered")
            self._empty = False
            self.transferred += 1


class Onlooker:
    """Passive observer of a port that the test drives.

    Parameters
    ----------
    name : name of the port in the record.
    into : True if the port is an input of the design.
    valid, ready : functions that read the signals; None if the port has no such signal or it is always 1.
    """

    def __init__(self, name: str, *, into: bool, valid: Look | None, ready: Look | None):
        self.name = name
        self._looks = valid, ready
        end = Sent if into else Received
        self.handshakes = end(valid=valid is not None, ready=ready is not None)

    def look(self) -> None:
        self.handshakes.see(*(look() if look else 1 for look in self._looks))
