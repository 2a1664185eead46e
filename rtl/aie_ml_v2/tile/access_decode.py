"""Where an access lies in data memory: its pair of banks, their word, the bytes of it, and what is wrong with its address."""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.aie_ml_v2.declarations.tile import ADDRESS_BITS
from bitpath.rtl.aie_ml_v2.tile.config import DataMemoryConfig


def access_layout(config: DataMemoryConfig) -> data.StructLayout:
    """Layout of an access: ``size`` is the logarithm of its bytes, up to a line."""
    return data.StructLayout({"address": ADDRESS_BITS, "size": range(config.byte_bits + 2)})


class AccessDecode(wiring.Component):
    """Combinational. Low address bits of an access that is not aligned, and bits beyond the memory, are left out.

    Parameters
    ----------
    config : sizes of the memory.

    Members
    -------
    access : In(access_layout)
    pair : Out, number of the pair of banks
    word : Out, place of the word in its bank
    needs : Out(2), the even and the odd bank
    first : Out, place of the first byte in the word; 0 for a whole line
    bytes : Out(bank_bytes), the bytes of the access in each word that it needs
    unaligned, outside : Out(1), errors of the address
    """

    clocked = False

    def __init__(self, config: DataMemoryConfig):
        self.config = config
        super().__init__(
            {
                "access": In(access_layout(config)),
                "pair": Out(range(config.all_pairs)),
                "word": Out(config.word_bits),
                "needs": Out(2),
                "first": Out(config.byte_bits),
                "bytes": Out(config.bank_bytes),
                "unaligned": Out(1),
                "outside": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config, address = self.config, self.access.address
        # Bits of the place in a line, in a bank's word and which of both words.
        line_bits = config.byte_bits + 1
        below, wide = Signal(line_bits), Signal()
        m.d.comb += [
            below.eq((1 << self.access.size) - 1),
            wide.eq(self.access.size > config.byte_bits),
            self.first.eq(address[: config.byte_bits] & ~below[: config.byte_bits]),
            self.needs.eq(Mux(wide, 0b11, 1 << address[config.byte_bits])),
            self.bytes.eq(Cat((byte & ~below[: config.byte_bits]) == self.first for byte in range(config.bank_bytes))),
            self.word.eq(address[line_bits:]),
            self.pair.eq(address[line_bits + config.word_bits :]),
            self.unaligned.eq((address[:line_bits] & below).any()),
            self.outside.eq(address[config.used_bits :].any()),
        ]
        return m
