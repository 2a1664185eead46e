"""What happens at a stream, counted, and an onlooker that counts it where a test drives by hand."""

from collections.abc import Callable, Mapping
from typing import ClassVar

Look = Callable[[], int]
"""Looks at signals; not 0 where they are what is looked for."""


class Handshakes:
    """Counts of what can happen at one end of a stream.

    Parameters
    ----------
    valid, ready : whether the stream has that signal: one that is always valid has no gaps.

    Attributes
    ----------
    EVENTS : what happens, as coverage names it, with the signal that it takes.
    events : how often each that can happen has.
    transferred : payloads that went over.
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
    """At a design's input."""

    EVENTS: ClassVar[Mapping[str, str]] = {"gap": "valid", "taken at once": "", "taken late": "ready"}
    _gap = _late = False

    def see(self, valid: int, ready: int) -> None:
        """Count a cycle."""
        if valid and ready:
            self.taken(gap=self._gap, late=self._late)
        self._gap = not valid or (self._gap and not ready)
        self._late = bool(valid and not ready)

    def taken(self, *, gap: bool, late: bool) -> None:
        """Count a payload that was taken: whether a pause was before it, and whether it had to wait."""
        # Between two payloads only: before the first and behind the last every stream is empty.
        if gap and self.transferred:
            self._count("gap")
        self._count("taken late" if late else "taken at once")
        self.transferred += 1


class Received(Handshakes):
    """At a design's output."""

    EVENTS: ClassVar[Mapping[str, str]] = {"stalled": "ready", "nothing offered": "valid", "back to back": ""}
    _moved = _empty = False

    def see(self, valid: int, ready: int) -> None:
        """Count a cycle."""
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
    """Counts what happens at a port that somebody else drives; it drives nothing and waits for nothing.

    Parameters
    ----------
    name : of the port, in the record.
    into : whether the port is an input of the design.
    valid, ready : look at the signals; None where the port has no such signal, or is always so.
    """

    def __init__(self, name: str, *, into: bool, valid: Look | None, ready: Look | None):
        self.name = name
        self._looks = valid, ready
        end = Sent if into else Received
        self.handshakes = end(valid=valid is not None, ready=ready is not None)

    def look(self) -> None:
        """Count a cycle."""
        self.handshakes.see(*(look() if look else 1 for look in self._looks))
