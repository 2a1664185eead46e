"""Why the engine refuses a command, or the tile an operation."""

from amaranth.lib import enum


class Fault(enum.Enum, shape=3):
    """Why it was refused; of several reasons the first here."""

    NONE = 0
    OPERATION = 1  # it does not exist, or not with these registers or this control
    FORMAT = 2  # formats that the mode does not have
    BUSY = 3  # an earlier operation, or one of the same bundle, takes its port, its slot, its FIFO or its registers
    UNALIGNED = 4  # an address that its width does not divide
    RANGE = 5  # words or bytes beyond the end of a memory
