"""The error of programs whose result the vendor's documents leave undefined."""


class UndefinedBehavior(ValueError):
    """A page of the instruction set calls what an instruction does here undefined."""
