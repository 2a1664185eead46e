"""Stream ports: buffers between the core's accesses and the stream switch.

Ref: AM027 chapter 2; AM029 for the status bits.
"""

from dataclasses import dataclass

from amaranth import Array, Cat, Const, Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.fifo import SyncFIFO, SyncFIFOBuffered
from amaranth.lib.wiring import In, Out, connect, flipped

from bitpath.golden.aie_ml_v2.declarations.tile import STREAM_IN_WORDS, STREAM_OUT_WORDS
from bitpath.rtl.common.config import UnitConfig, in_range
from bitpath.rtl.common.unit import Covered, Judge, Unit


@dataclass(frozen=True, kw_only=True)
class StreamPortConfig(UnitConfig, unit="stream_port"):
    """Configuration of the stream ports.

    Attributes
    ----------
    inputs : streams into the core, 1 or 2.
    in_words, out_words : words of a buffer in, 1 to 16, and out, 3 to 16. A buffer out of two words would take none in the
        cycle in which its first word moves to the output.
    """

    inputs: int = in_range(1, 2, 1)
    in_words: int = in_range(1, 16, STREAM_IN_WORDS)
    out_words: int = in_range(3, 16, STREAM_OUT_WORDS)


STREAM_WORD = data.StructLayout({"word": 32, "last": 1})
"""Layout of a word, with a bit for the last one of a packet (tlast)."""


class StreamPort(wiring.Component):
    """A word a cycle in each direction. A blocking access stalls the core until it succeeds, a non-blocking one fails.

    Latency: a word can be read one cycle after it comes in, and goes out two cycles after it is written.

    Parameters
    ----------
    config : number of inputs, and sizes of the buffers.

    Members
    -------
    i : In(stream of STREAM_WORD), of each input
    o : Out(stream of STREAM_WORD)
    advance : In(1), the rest of the core is ready to go on
    stall : Out(1), a blocking access waits
    reads, read_blocks : In(1); select : In(range(inputs)), which input; read : Out(STREAM_WORD), 0 if there is none, read_success : Out(1)
    writes, write_blocks : In(1); write : In(STREAM_WORD), write_success : Out(1)
    """

    def __init__(self, config: StreamPortConfig):
        self.config = config
        words = stream.Signature(STREAM_WORD)
        super().__init__(
            {
                "i": In(words).array(config.inputs),
                "o": Out(words),
                "advance": In(1),
                "stall": Out(1),
                "reads": In(1),
                "read_blocks": In(1),
                "select": In(range(config.inputs)),
                "read": Out(STREAM_WORD),
                "read_success": Out(1),
                "writes": In(1),
                "write_blocks": In(1),
                "write": In(STREAM_WORD),
                "write_success": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        width = STREAM_WORD.size
        # A signal without bits would be a wire [-1:0] in Verilog.
        select = self.select if self.config.inputs > 1 else Const(0)
        buffers = []
        for number in range(self.config.inputs):
            m.submodules[f"in_{number}"] = buffer = SyncFIFO(width=width, depth=self.config.in_words)
            m.d.comb += [
                buffer.w_data.eq(self.i[number].p),
                buffer.w_en.eq(self.i[number].valid),
                self.i[number].ready.eq(buffer.w_rdy),
            ]
            buffers.append(buffer)
        m.submodules.out = out = SyncFIFOBuffered(width=width, depth=self.config.out_words)
        connect(m, out.r_stream, flipped(self.o))

        goes, found = Signal(), Signal()
        m.d.comb += [
            found.eq(Array(buffer.r_rdy for buffer in buffers)[select]),
            self.read_success.eq(self.reads & found),
            self.write_success.eq(self.writes & out.w_rdy),
            self.stall.eq(
                Cat(
                    self.reads & self.read_blocks & ~found,
                    self.writes & self.write_blocks & ~out.w_rdy,
                ).any()
            ),
            goes.eq(self.advance & ~self.stall),
            out.w_data.eq(self.write),
            out.w_en.eq(goes & self.writes),
        ]
        with m.If(self.read_success):
            m.d.comb += self.read.eq(Array(buffer.r_data for buffer in buffers)[select])
        for number, buffer in enumerate(buffers):
            m.d.comb += buffer.r_en.eq(goes & self.reads & (select == number))
        return m


RECORDS = (
    Unit(
        name="stream_port",
        config_type=StreamPortConfig,
        build=StreamPort,
        summary="AIE-ML v2: buffers between the core and the stream switch",
        covered=Covered(StreamPortConfig(inputs=2), 1000),
        judges=(Judge(97, StreamPortConfig(inputs=2), 300),),
    ),
)
