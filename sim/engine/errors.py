"""Errors on the way to and through a simulator."""


class MissingToolError(OSError):
    """A program or library is missing; the message is the line that installs it."""


class SimulationError(RuntimeError):
    """A build or run failed, or checked too little; the message names the log and the command that replays it."""
