"""What can go wrong on the way to and through a simulator."""


class MissingToolError(OSError):
    """A program or library is not installed; the message is the one line that says what to install."""


class SimulationError(RuntimeError):
    """A build or a run failed, or checked too little; the message says which, where the log is and how to replay it."""
