"""Decoder: a word becomes a record with the fields of every instruction of the chip.

Ref: tenstorrent/tt-llk 36b092e, ``instructions/assembly.yaml``, by the table of encodings.
"""

from functools import cache

from amaranth import Const, Module, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.tensix.declarations.encodings import BY_NAME, ENCODINGS, OPCODE_LOW, WORD_BITS
from bitpath.golden.tensix.declarations.formats import Chip
from bitpath.golden.tensix.declarations.sfpu import FIRST_TEMPLATE, MODES
from bitpath.rtl.common.pipeline.faults import first_of
from bitpath.rtl.common.unit import Covered, Unit
from bitpath.rtl.tensix.core.config import ChipConfig
from bitpath.rtl.tensix.faults import Fault
from bitpath.rtl.tensix.stream.expanders import stray

PRODUCTS = ("MVMUL", "DOTPV", "ELWMUL", "ELWADD", "ELWSUB", "GMPOOL", "GAPOOL")
MATRIX = (*PRODUCTS, "ZEROACC")
MOVES = ("MOVA2D", "MOVB2D", "MOVD2A", "MOVD2B", "MOVB2A", "TRNSPSRCB")
BANKS = ("ZEROSRC", "CLEARDVALID", "SETDVALID", "UNPACR_NOP")
"""Instructions that clear banks of the sources or change their owners; a SETRWC with flips does so too."""
RWC = ("SETRWC", "INCRWC")
ADC = ("SETADC", "SETADCXX", "SETADCXY", "SETADCZW", "INCADCXY", "INCADCZW", "ADDRCRXY", "ADDRCRZW")
CONFIG = ("WRCFG", "SETC16", "RMWCIB0", "RMWCIB1", "RMWCIB2", "RMWCIB3", "SETDMAREG")
SEMAPHORES = ("SEMINIT", "SEMPOST", "SEMGET")
WAITS = ("STALLWAIT", "SEMWAIT")
VECTOR = tuple(name for name in BY_NAME[Chip.BLACKHOLE] if name.startswith("SFP"))
EXECUTED = (*MATRIX, *MOVES, *BANKS, *RWC, *ADC, *CONFIG, *SEMAPHORES, *WAITS, *VECTOR, "UNPACR", "PACR", "NOP")
"""Instructions that a core executes."""
ZERO_FIELDS = {
    "UNPACR": ("row_search",),
    "PACR": (
        "config_context",
        "row_pad",
        "strided",
        "counter_context",
        "override_thread",
        "context_control",
    ),
    "UNPACR_NOP": ("bank",),
    "ZEROACC": ("revert",),
}
"""Fields that must be 0 in an instruction that a core executes."""
FIELD_VALUES = {
    **dict.fromkeys(((name, "mode") for name in MOVES if name not in ("MOVB2D", "TRNSPSRCB")), (0, 2)),
    ("UNPACR_NOP", "what"): (1, 2, 5, 7),
    ("UNPACR_NOP", "pop"): (1, 2),
    ("UNPACR_NOP", "value"): (0, 1),
}
"""Values of a field in an instruction that a core executes, where it does not execute all."""


@cache
def instruction_layout(chip: Chip) -> data.StructLayout:
    """Return the layout of a decoded instruction: its opcode, and each field as wide as it is in any instruction."""
    widths: dict[str, int] = {}
    for encoding in ENCODINGS[chip]:
        for each in encoding.fields:
            widths[each.name] = max(each.width, widths.get(each.name, 0))
    return data.StructLayout({"opcode": WORD_BITS - OPCODE_LOW} | widths)


def named(instruction: data.View, *names: str) -> Value:
    """Return 1 if a decoded instruction has one of these names; opcodes are the same on both chips."""
    return instruction.opcode.matches(*(BY_NAME[Chip.BLACKHOLE][name].opcode for name in names))


def clearing(chip: Chip, instruction: data.View) -> Value:
    """Return 1 if an UNPACR_NOP clears its unpacker's bank: to 0, or, on Wormhole by ``what`` 5 and on Blackhole by
    ``value`` 1, to minus infinity."""
    return ~instruction.what[1] if chip is Chip.WORMHOLE else instruction.pop[0]


def handing_over(chip: Chip, instruction: data.View) -> Value:
    """Return 1 if an UNPACR_NOP hands its unpacker's bank over."""
    return instruction.what == 7 if chip is Chip.WORMHOLE else instruction.set_valid


def _lowest(chip: Chip, fields: dict[str, Value]) -> Value:
    """Return 1 if an UNPACR_NOP clears to minus infinity, which is for SrcA alone."""
    if chip is Chip.WORMHOLE:
        return fields["what"] == 5
    return (fields["pop"] == 1) & (fields["value"] == 1)


class Decode(wiring.Component):
    """It is combinational, with latency 0.

    Parameters
    ----------
    config : the chip.

    Members
    -------
    word : In(32)
    instruction : Out(instruction_layout); fields that the instruction does not have are 0
    fault : Out(Fault):

        - WORD: no instruction has this opcode, or bits outside of the instruction's fields are set;
        - OPERATION: an instruction of the chip that a core does not execute: a name that is not in `EXECUTED`, a field of
          `ZERO_FIELDS` that is not 0 or of `FIELD_VALUES` that has another value, a reserved modifier of the Vector unit's, an UNPACR_NOP that clears SrcB to minus infinity,
          or a SEMWAIT that waits for nothing
    """

    clocked = False

    def __init__(self, config: ChipConfig):
        self.config = config
        super().__init__(
            {
                "word": In(WORD_BITS),
                "instruction": Out(instruction_layout(config.chip)),
                "fault": Out(Fault),
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
                    refused = Const(encoding.name not in EXECUTED, 1)
                    for name in ZERO_FIELDS.get(encoding.name, ()):
                        refused |= fields[name].any() if name in fields else 0
                    for (name, field), values in FIELD_VALUES.items():
                        if name == encoding.name and field in fields:
                            refused |= ~fields[field].matches(*values)
                    if encoding.name == "UNPACR_NOP":
                        refused |= fields["unpacker"] & _lowest(chip, fields)
                    if encoding.name in MODES[chip]:
                        # Words that become templates may have any modifier.
                        refused |= ~fields["mod"].matches(*MODES[chip][encoding.name]) & (fields["vd"] < FIRST_TEMPLATE)
                    if encoding.name == "SFP_STOCH_RND" and chip is Chip.BLACKHOLE:
                        refused |= fields["rounding"].all() & (fields["vd"] < FIRST_TEMPLATE)
                    if encoding.name == "SEMWAIT":
                        refused |= ~(fields["while_zero"] | fields["at_maximum"])
                    strays = stray(word, encoding.name, chip)
                    m.d.comb += self.fault.eq(first_of((strays, Fault.WORD), (refused, Fault.OPERATION)))
            with m.Default():
                m.d.comb += self.fault.eq(Fault.WORD)
        return m


RECORDS = (
    Unit(
        name="decode",
        config_type=ChipConfig,
        build=Decode,
        summary="Tensix: a word becomes the fields of its instruction",
        covered=Covered(ChipConfig(), 300),
        agreed=ChipConfig(chip=Chip.BLACKHOLE),
    ),
)
