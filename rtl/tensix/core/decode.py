"""Decoder: a word becomes a record with the fields of every instruction of the chip.

Ref: tenstorrent/tt-llk 36b092e, ``instructions/assembly.yaml``, by the table of encodings.
"""

from functools import cache

from amaranth import Module, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.tensix.declarations.chips import Chip
from bitpath.golden.tensix.declarations.encodings import BY_NAME, ENCODINGS, OPCODE_LOW, WORD_BITS
from bitpath.rtl.tensix.core.config import DecodeConfig
from bitpath.rtl.tensix.stream.words import stray

PRODUCTS = ("MVMUL", "DOTPV", "ELWMUL", "ELWADD", "ELWSUB", "GMPOOL", "GAPOOL")
MATRIX = (*PRODUCTS, "ZEROACC")
RWC = ("SETRWC", "INCRWC")
ADC = ("SETADC", "SETADCXX", "SETADCXY", "SETADCZW", "INCADCXY", "INCADCZW", "ADDRCRXY", "ADDRCRZW")
CONFIG = ("WRCFG", "SETC16", "RMWCIB0", "RMWCIB1", "RMWCIB2", "RMWCIB3", "SETDMAREG")
SEMAPHORES = ("SEMINIT", "SEMPOST", "SEMGET")
WAITS = ("STALLWAIT", "SEMWAIT")
EXECUTED = (*MATRIX, *RWC, *ADC, *CONFIG, *SEMAPHORES, *WAITS, "UNPACR", "PACR", "NOP")
"""Instructions that a core executes."""
ZERO_FIELDS = {
    "UNPACR": ("context", "zero", "context_counter", "row_search"),
    "PACR": (
        "config_context",
        "row_pad",
        "strided",
        "counter_context",
        "zero",
        "override_thread",
        "context_control",
        "flush",
    ),
    "SETRWC": ("flip",),
    "DOTPV": ("broadcast_row",),
}
"""Fields that must be 0 in an instruction that a core executes."""
ZEROACC_MODES = (1, 3)
"""Modes of ZEROACC that a core executes: 16 rows, and all."""


@cache
def instruction_layout(chip: Chip) -> data.StructLayout:
    """Return the layout of a decoded instruction: its opcode, and each field as wide as it is in any instruction."""
    widths: dict[str, int] = {}
    for encoding in ENCODINGS[chip]:
        for each in encoding.fields:
            widths[each.name] = max(each.width, widths.get(each.name, 0))
    return data.StructLayout({"opcode": WORD_BITS - OPCODE_LOW} | widths)


def named(instruction: data.View, *names: str) -> Value:
    """Whether a decoded instruction has one of these names; opcodes are the same on both chips."""
    return instruction.opcode.matches(*(BY_NAME[Chip.WORMHOLE][name].opcode for name in names))


class Decode(wiring.Component):
    """Combinational: latency 0.

    Parameters
    ----------
    config : the chip.

    Members
    -------
    word : In(32)
    instruction : Out(instruction_layout); fields that the instruction does not have are 0
    illegal : Out(1), no instruction has this opcode, or bits outside of the instruction's fields are set
    unsupported : Out(1), an instruction of the chip that a core does not execute: a name that is not in `EXECUTED`, a field of
        `ZERO_FIELDS` that is not 0, or a mode of ZEROACC that is not in `ZEROACC_MODES`
    """

    clocked = False

    def __init__(self, config: DecodeConfig):
        self.config = config
        super().__init__(
            {
                "word": In(WORD_BITS),
                "instruction": Out(instruction_layout(config.chip)),
                "illegal": Out(1),
                "unsupported": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        chip, word = self.config.chip, self.word
        opcode = word[OPCODE_LOW:]
        m.d.comb += self.instruction.opcode.eq(opcode)
        with m.Switch(opcode):
            for encoding in ENCODINGS[chip]:
                with m.Case(encoding.opcode):
                    fields = {each.name: word[each.low : each.high + 1] for each in encoding.fields}
                    m.d.comb += [self.instruction[name].eq(bits) for name, bits in fields.items()]
                    m.d.comb += self.illegal.eq(stray(word, encoding.name, chip))
                    refused = encoding.name not in EXECUTED
                    for name in ZERO_FIELDS.get(encoding.name, ()):
                        refused |= fields[name].any() if name in fields else 0
                    if encoding.name == "ZEROACC":
                        refused |= ~fields["mode"].matches(*ZEROACC_MODES)
                    m.d.comb += self.unsupported.eq(refused)
            with m.Default():
                m.d.comb += self.illegal.eq(1)
        return m
