"""Why the engine refuses a command, or the core a word."""

from amaranth.lib import enum


class Fault(enum.Enum, shape=3):
    """Why it was refused; of several reasons the first here."""

    NONE = 0
    WORD = 1  # no instruction has this opcode, or bits of no field are set
    OPERATION = 2  # an instruction, or a value of one of its fields, that there is not
    FORMAT = 3  # formats that no conversion, or the style, does not have, or controls that they do not take
    RANGE = 4  # rows or words beyond the end of a register or a memory
    BANK = 5  # the next product would have no tile: its bank holds none, and the next load goes to the other one
    STATE = 6  # counters, formats and modes with which the core does not execute the instruction
    REGISTER = 7  # a configuration register that the chip has not, or bits of no field
