"""Errors on the way to and through a simulator, and the exit codes of the ``bitpath`` command."""

EXIT_CODES = {
    0: "All is equal, or done.",
    1: "A bit differs, or a check, a simulation or a proof fails.",
    2: "An option or an input is wrong, or disk or memory are full.",
    3: "A program or a package is missing; the message is the line that installs it.",
    130: "Ctrl-C, kill or the end of the terminal interrupted the command.",
}
"""Meaning of each exit code; 130 is the shell's own for an interruption."""
FAILED, REFUSED, MISSING, INTERRUPTED = 1, 2, 3, 130


class MissingToolError(OSError):
    """A program or library is missing; the message is the line that installs it."""


class SimulationError(RuntimeError):
    """A build or run failed, or checked too little; the message names the log and the command that replays it."""
