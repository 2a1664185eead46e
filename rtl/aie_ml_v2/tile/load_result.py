"""The bytes of a load, out of words that its banks may give in different cycles."""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.rtl.aie_ml_v2.tile.config import DataMemoryConfig


class LoadResult(wiring.Component):
    """Collects both words of a load, aligns them, and holds its bytes until the core goes on again.

    Latency: ``o`` is right in the cycle after ``goes``, and until the cycle of the next one.

    Parameters
    ----------
    config : sizes of the memory.

    Members
    -------
    served : In(2), the bank that reads for the load in this cycle, even and odd
    words : In(2 words), what the banks read in the cycle before
    odd, wide : In(1), the load needs the odd bank alone, or both
    first : In, place of the first byte in the word
    bytes : In(bank_bytes), bytes of the word that the load needs
    goes : In(1), the load is complete in this cycle, and the core goes on
    o : Out(line_bytes), the load's bytes, zeros above
    """

    def __init__(self, config: DataMemoryConfig):
        self.config = config
        word = 8 * config.bank_bytes
        super().__init__(
            {
                "served": In(2),
                "words": In(2 * word),
                "odd": In(1),
                "wide": In(1),
                "first": In(config.byte_bits),
                "bytes": In(config.bank_bytes),
                "goes": In(1),
                "o": Out(2 * word),
            }
        )

    def elaborate(self, platform):
        m = Module()
        word = 8 * self.config.bank_bytes
        moved = Signal()
        odd, wide = Signal(reset_less=True), Signal(reset_less=True)
        first, shown = Signal.like(self.first, reset_less=True), Signal.like(self.bytes, reset_less=True)
        fresh = Signal(2)
        held, collected, out = (Signal(2 * word, name=name, reset_less=True) for name in ("held", "collected", "out"))
        narrow, masked = Signal(word), Signal(word)
        m.d.comb += [
            collected.eq(
                Cat(
                    Mux(fresh[bank], self.words.word_select(bank, word), held.word_select(bank, word))
                    for bank in range(2)
                )
            ),
            masked.eq(Mux(odd, collected[word:], collected[:word]) & Cat(bit.replicate(8) for bit in shown)),
            narrow.eq(masked >> (first << 3)),
            self.o.eq(Mux(moved, Mux(wide, collected, narrow), out)),
        ]
        m.d.sync += [
            fresh.eq(self.served),
            held.eq(collected),
            out.eq(self.o),
            moved.eq(self.goes),
            odd.eq(self.odd),
            wide.eq(self.wide),
            first.eq(self.first),
            shown.eq(self.bytes),
        ]
        return m
