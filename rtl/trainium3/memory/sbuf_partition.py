"""One SBUF partition: banks of 8-byte words, which the DMA port reads and writes together."""

from amaranth import Array, Cat, Module, Mux, Signal
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from bitpath.rtl.trainium3.memory.config import SBUF_WORD_BYTES, SbufConfig


class SbufPartition(wiring.Component):
    """Every engine reads a word and writes another one in each cycle; the DMA port takes the ports of engine 0.

    Word w is in bank ``w % banks``. A word that is written in the cycle of its read is read as it was. Of two engines that
    write one byte at once either wins.

    Parameters
    ----------
    config : that of the memory.

    Members
    -------
    read_word : In, the word of each engine; read_data : Out, a cycle later
    write_mask, write_word, write_data : In, of each engine; a mask of zero writes nothing
    dma_reads : In(1), dma_read_row : In; dma_read_data : Out, the row's bytes a cycle later
    dma_writes : In(1), dma_write_row, dma_mask, dma_data : In
    """

    def __init__(self, config: SbufConfig):
        self.config = config
        super().__init__(self.ports(config))

    @staticmethod
    def ports(config: SbufConfig) -> dict[str, wiring.Member]:
        """Return the members of one partition."""
        return {
            "read_word": In(config.engines * config.word_bits),
            "read_data": Out(config.engines * SBUF_WORD_BYTES * 8),
            "write_mask": In(config.engines * SBUF_WORD_BYTES),
            "write_word": In(config.engines * config.word_bits),
            "write_data": In(config.engines * SBUF_WORD_BYTES * 8),
            "dma_reads": In(1),
            "dma_read_row": In(config.row_bits),
            "dma_read_data": Out(8 * config.dma_bytes),
            "dma_writes": In(1),
            "dma_write_row": In(config.row_bits),
            "dma_mask": In(config.dma_bytes),
            "dma_data": In(8 * config.dma_bytes),
        }

    def elaborate(self, platform):
        m = Module()
        config, bank_bits = self.config, exact_log2(self.config.banks)
        found: list[list[Signal]] = [[] for _ in range(config.engines)]
        for bank in range(config.banks):
            cells = memory.Memory(shape=8 * SBUF_WORD_BYTES, depth=1 << config.row_bits, init=[])
            m.submodules[f"bank_{bank}"] = cells
            for engine in range(config.engines):
                read_port, write_port = cells.read_port(), cells.write_port(granularity=8)
                at = self.read_word.word_select(engine, config.word_bits)
                to = self.write_word.word_select(engine, config.word_bits)
                mask = self.write_mask.word_select(engine, SBUF_WORD_BYTES)
                read_row, write_row = at[bank_bits:], to[bank_bits:]
                enable = Mux(to[:bank_bits] == bank, mask, 0)
                words = self.write_data.word_select(engine, 8 * SBUF_WORD_BYTES)
                if engine == 0:
                    read_row = Mux(self.dma_reads, self.dma_read_row, read_row)
                    write_row = Mux(self.dma_writes, self.dma_write_row, write_row)
                    enable = Mux(self.dma_writes, self.dma_mask.word_select(bank, SBUF_WORD_BYTES), enable)
                    words = Mux(self.dma_writes, self.dma_data.word_select(bank, 8 * SBUF_WORD_BYTES), words)
                m.d.comb += [
                    read_port.addr.eq(read_row),
                    write_port.addr.eq(write_row),
                    write_port.data.eq(words),
                    write_port.en.eq(enable),
                ]
                found[engine].append(read_port.data)
        for engine, words in enumerate(found):
            chosen = Signal(bank_bits, name=f"bank_of_{engine}", reset_less=True)
            m.d.sync += chosen.eq(self.read_word.word_select(engine, config.word_bits)[:bank_bits])
            m.d.comb += self.read_data.word_select(engine, 8 * SBUF_WORD_BYTES).eq(Array(words)[chosen])
        m.d.comb += self.dma_read_data.eq(Cat(found[0]))
        return m
