"""Accumulator register file, in words of ``lanes`` accumulator lanes: one write port, three read ports."""

from amaranth import Module
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from bitpath.golden.aie_ml_v2.declarations.modes import FLOAT16, INT8
from bitpath.rtl.aie_ml_v2.vector.config import VectorMacConfig
from bitpath.rtl.aie_ml_v2.vector.layouts import word_bits


class AccumulatorFile(wiring.Component):
    """Register file with synchronous, write-transparent read ports.

    Read latency: 1 cycle. A read in the cycle of a write to the same address returns the new word.

    Parameters
    ----------
    config : VectorMacConfig, the lanes and the number of accumulators.

    Members
    -------
    write : In, the write address
    write_word : In(word)
    write_enable : In(1)
    half : In(1), 1 to write only lanes 0 to 31 of a word of 64
    acc1, acc2, outside : In, the read addresses
    outside_enable : In(1); at 0 ``outside_word`` holds its value
    acc1_word, acc2_word, outside_word : Out(word)
    """

    def __init__(self, config: VectorMacConfig):
        self.config = config
        address, word = ceil_log2(config.accumulators * config.parts), word_bits(config)
        names = ("acc1", "acc2", "outside")
        super().__init__(
            {
                "write": In(address),
                "write_word": In(word),
                "write_enable": In(1),
                "half": In(1),
                "outside_enable": In(1),
                **{name: In(address) for name in names},
                **{f"{name}_word": Out(word) for name in names},
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self.config
        depth, word = config.accumulators * config.parts, word_bits(config)
        m.submodules.words = words = memory.Memory(shape=word, depth=depth, init=[])
        whole = config.lanes == INT8.lanes  # FLOAT16 has half as many
        write = words.write_port(granularity=word * FLOAT16.lanes // INT8.lanes if whole else None)
        m.d.comb += [
            write.addr.eq(self.write),
            write.data.eq(self.write_word),
            write.en.eq(self.write_enable.replicate(len(write.en))),
        ]
        if whole:
            m.d.comb += write.en[1].eq(self.write_enable & ~self.half)
        for name in ("acc1", "acc2", "outside"):
            read = words.read_port(transparent_for=(write,))
            m.d.comb += [
                read.addr.eq(getattr(self, name)),
                read.en.eq(self.outside_enable if name == "outside" else 1),
                getattr(self, f"{name}_word").eq(read.data),
            ]
        return m
