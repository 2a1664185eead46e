"""Errors of programs of Tensix instructions."""


class UndefinedBehavior(ValueError):
    """A page of the instruction set calls what an instruction does here undefined."""


class DeadlockError(RuntimeError):
    """No thread can go on, and an instruction is left: each waits for what another thread, or the host, does not do."""
