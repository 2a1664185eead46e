"""Lane of the RMSNorm-Quant row unit: row memory and datapath."""

from amaranth import Module, Mux, Signal
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import BF16, FP32
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.trainium3.rmsnorm_quant.config import RmsNormQuantConfig
from bitpath.rtl.trainium3.rmsnorm_quant.hidden_cast import HiddenCast
from bitpath.rtl.trainium3.rmsnorm_quant.layouts import LANE_BYTE, OPTIONS, lane_control, to_fp32
from bitpath.rtl.trainium3.rmsnorm_quant.normalize import NormalizePass
from bitpath.rtl.trainium3.rmsnorm_quant.quantize import QuantizePass
from bitpath.rtl.trainium3.rmsnorm_quant.square_sum import SquareSum
from bitpath.rtl.trainium3.rmsnorm_quant.statistics import Statistics


class RmsNormQuantLane(wiring.Component):
    """Memory and datapath of one row; the sequencer's ``control`` drives all lanes alike. Elements become BF16 first::

        hidden -+-> square sum -------------> statistics: 1 / RMS, scale, 1 / scale
           |                                    |
           +-> row memory --> normalise -+      v
                  ^    |                 |   quantise --> o
                  +----|-----------------+      ^
                       +------------------------+

    Parameters
    ----------
    config : configuration of the row unit.

    Members
    -------
    control : In(lane_control)
    options : In(OPTIONS), in_scale : In(32), fields of the row's command
    hidden : In(32), a code of the command's ``source``; 16-bit codes in the upper half
    gamma : In(32), FP32, GAMMA_LATENCY cycles after the read of its element
    o : Out(8), OUTPUT_LATENCY cycles of ``control.advance`` after the read of its element
    """

    PUT_LATENCY = 1 + NormalizePass.LATENCY
    """Cycles from the read of an element to its normalised value."""
    GAMMA_LATENCY = 1 + NormalizePass.GAMMA_LATENCY
    OUTPUT_LATENCY = 1 + QuantizePass.LATENCY

    def __init__(self, config: RmsNormQuantConfig):
        self.config = config
        super().__init__(
            {
                "control": In(lane_control(config)),
                "options": In(OPTIONS),
                "in_scale": In(FP32.width),
                "hidden": In(FP32.width),
                "gamma": In(FP32.width),
                "o": Out(LANE_BYTE),
            }
        )

    def elaborate(self, platform):
        m = Module()
        control = self.control
        m.submodules.cells = cells = memory.Memory(shape=BF16.width, depth=self.config.max_row_length, init=[])
        write, read = cells.write_port(), cells.read_port()
        cast = instantiate(m, platform, "cast", HiddenCast)
        squares = instantiate(m, platform, "squares", SquareSum)
        statistics = instantiate(m, platform, "statistics", Statistics)
        normalize = instantiate(m, platform, "normalize", NormalizePass)
        quantize = instantiate(m, platform, "quantize", QuantizePass)
        stored = Signal(BF16.width)
        m.d.comb += [
            cast.i.eq(self.hidden),
            cast.source.eq(self.options.source),
            stored.eq(Mux(control.put, normalize.o, cast.o)),
            write.addr.eq(control.write_address),
            write.en.eq(control.store | control.put),
            write.data.eq(stored),
            read.addr.eq(control.read_address),
            read.en.eq(control.read),
            squares.clear.eq(control.begin),
            squares.i.eq(to_fp32(cast.o)),
            squares.add.eq(control.add),
            normalize.i.eq(to_fp32(read.data)),
            normalize.inverse.eq(statistics.o),
            normalize.gamma.eq(self.gamma),
            quantize.advance.eq(control.advance),
            quantize.options.eq(self.options),
            quantize.i.eq(read.data),
            quantize.factor.eq(statistics.o),
            self.o.eq(
                Mux(control.scale_bytes, statistics.scale.word_select(control.scale_byte, LANE_BYTE), quantize.o)
            ),
        ]

        # Largest magnitude of the elements to quantise, as they arrive or as pass 2 writes them back. Codes without sign
        # compare as integers, with NaN above all.
        largest, magnitude = Signal(BF16.width - 1, reset_less=True), stored[:-1]
        m.d.comb += [
            statistics.phase.eq(control.phase),
            statistics.start.eq(control.start),
            statistics.options.eq(self.options),
            statistics.in_scale.eq(self.in_scale),
            statistics.sum.eq(squares.o),
            statistics.largest.eq(largest),
        ]
        with m.If(control.begin):
            m.d.sync += largest.eq(0)
        with m.Elif((control.put | (control.store & self.options.quant_only)) & (magnitude > largest)):
            m.d.sync += largest.eq(magnitude)
        return m
