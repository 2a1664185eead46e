"""One SBUF partition: banks of 8-byte words, which the DMA port reads and writes together."""

from typing import Any

from amaranth import Array, Cat, Module, Mux, Signal
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from bitpath.rtl.trainium3.memory.config import SBUF_WORD_BYTES, SbufConfig


class SbufPartition(wiring.Component):
    """Every port reads or writes a word in each cycle; DMA takes the first read port and the first write port.

    Word w is in bank ``w % banks``. A word that is written in the cycle of its read is read as it was. Of two engines that
    write one byte at once either wins.

    Parameters
    ----------
    config : that of the memory.

    Members
    -------
    read_word : In, the word of each read port; read_data : Out, a cycle later
    write_mask, write_word, write_data : In, of each write port; a mask of zero writes nothing
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
            "read_word": In(config.read_ports * config.word_bits),
            "read_data": Out(config.read_ports * SBUF_WORD_BYTES * 8),
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
        found: list[list[Any]] = [[] for _ in range(config.read_ports)]
        for bank in range(config.banks):
            cells = memory.Memory(shape=8 * SBUF_WORD_BYTES, depth=1 << config.row_bits, init=[])
            m.submodules[f"bank_{bank}"] = cells
            for port, words in enumerate(found):
                read_port = cells.read_port()
                row = self.read_word.word_select(port, config.word_bits)[bank_bits:]
                m.d.comb += read_port.addr.eq(Mux(self.dma_reads, self.dma_read_row, row) if port == 0 else row)
                words.append(read_port.data)
            for port in range(config.engines):
                write_port = cells.write_port(granularity=8)
                to = self.write_word.word_select(port, config.word_bits)
                row, mask = to[bank_bits:], self.write_mask.word_select(port, SBUF_WORD_BYTES)
                enable = Mux(to[:bank_bits] == bank, mask, 0)
                data = self.write_data.word_select(port, 8 * SBUF_WORD_BYTES)
                if port == 0:
                    row = Mux(self.dma_writes, self.dma_write_row, row)
                    enable = Mux(self.dma_writes, self.dma_mask.word_select(bank, SBUF_WORD_BYTES), enable)
                    data = Mux(self.dma_writes, self.dma_data.word_select(bank, 8 * SBUF_WORD_BYTES), data)
                m.d.comb += [write_port.addr.eq(row), write_port.data.eq(data), write_port.en.eq(enable)]
        for port, words in enumerate(found):
            chosen = Signal(bank_bits, name=f"bank_of_{port}", reset_less=True)
            m.d.sync += chosen.eq(self.read_word.word_select(port, config.word_bits)[:bank_bits])
            m.d.comb += self.read_data.word_select(port, 8 * SBUF_WORD_BYTES).eq(Array(words)[chosen])
        m.d.comb += self.dma_read_data.eq(Cat(found[0]))
        return m
