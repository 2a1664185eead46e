"""Cast of the elements of a DMA beat from one dtype to another."""

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.trainium3.declarations.dtypes import container_bits
from bitpath.rtl.common.pipeline.pipeline_registers import PipelineRegisters
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.trainium3.dma.config import DmaCastConfig
from bitpath.rtl.trainium3.dma.dtype import Dtype, dtypes_within
from bitpath.rtl.trainium3.dma.from_fp32 import FromFp32
from bitpath.rtl.trainium3.dma.to_fp32 import ToFp32
from bitpath.rtl.trainium3.faults import Fault, taken_if_legal

STEPS = {0: (), 1: ("fp32",), 2: ("fp32", "codes")}
"""Steps that end in a pipeline register, by ``stages``."""
WIDTHS = (8, 16, 32)


class Pair(data.Struct):
    """Dtypes of a beat."""

    source: Dtype
    destination: Dtype


def cast_layout(beat_bytes: int) -> data.StructLayout:
    """Layout of a beat: bytes, element 0 lowest, and the dtypes of its cast."""
    return data.StructLayout({"data": 8 * beat_bytes, "pair": Pair})


def log_bytes(dtype: Value) -> Value:
    """Return 0, 1 or 2 for a dtype of 1, 2 or 4 bytes."""
    half, wide = (
        Value.cast(dtype).matches(*(each for each, name in dtypes_within(bits).items() if container_bits(name) == bits))
        for bits in WIDTHS[1:]
    )
    return Cat(half, wide)


def is_unknown(dtype: Value) -> Value:
    """Tell whether a dtype is none of those that there are."""
    return ~Value.cast(dtype).matches(*Dtype)


class DmaCast(wiring.Component):
    """Casts as many elements as fit a beat in the wider one of their dtypes, through FP32; equal dtypes move bits.

    The elements lie in the low bytes on both sides, packed; the result has zeros above. Latency is ``stages`` cycles, 0 to 2;
    throughput is a beat of the wider side a cycle. A stall of ``o`` holds the whole pipeline.

    Parameters
    ----------
    config : bytes of a beat, pipeline, and whether dtypes are checked.

    Members
    -------
    i : In(stream of cast_layout)
    o : Out(stream of the beat's bits)
    fault : Out(Fault), DTYPE in the cycle in which a beat of an unknown dtype is taken; nothing comes of it
    """

    def __init__(self, config: DmaCastConfig):
        self.config = config
        super().__init__(
            {
                "i": In(stream.Signature(cast_layout(config.beat_bytes))),
                "o": Out(stream.Signature(8 * config.beat_bytes)),
                "fault": Out(Fault),
            }
        )

    @property
    def clocked(self) -> bool:
        """True if the component has registers."""
        return self.config.pipeline.stages > 0

    def elaborate(self, platform):
        m = Module()
        count = self.config.beat_bytes
        wrong: Value = Value.cast(Fault.NONE)
        if self.config.checks:
            wrong = Mux(
                Cat(is_unknown(self.i.p.pair[side]) for side in ("source", "destination")).any(), Fault.DTYPE, wrong
            )
        valid = taken_if_legal(m, self.i, self.fault, wrong)
        registers = PipelineRegisters(m, STEPS[self.config.pipeline.stages], valid=valid, ready=self.o.ready)
        beat = self.i.p.data

        # Element k has a lane of 32 bits in the beat's first quarter, of 16 in its second, of 8 in its upper half.
        widths = [32 if 4 * k < count else 16 if 2 * k < count else 8 for k in range(count)]
        size = Signal(2)
        m.d.comb += size.eq(log_bytes(self.i.p.pair.source))
        numbers, codes = {}, {}
        for k, bits in enumerate(widths):
            code = Signal(bits, name=f"element_{k}")
            with m.Switch(size):
                for log, width in enumerate(WIDTHS):
                    if width <= bits:
                        with m.Case(log):
                            m.d.comb += code.eq(beat.word_select(k, width))
            convert = instantiate(m, platform, f"to_fp32_{k}", ToFp32, bits)
            m.d.comb += [convert.code.eq(code), convert.dtype.eq(self.i.p.pair.source)]
            numbers[f"number_{k}"], codes[f"code_{k}"] = convert.o, code
        pair, *held = registers.hold("fp32", pair=self.i.p.pair, **numbers, **codes)

        kept = Signal()
        m.d.comb += kept.eq(pair.source == pair.destination)
        results = []
        for k, bits in enumerate(widths):
            convert = instantiate(m, platform, f"from_fp32_{k}", FromFp32, bits)
            m.d.comb += [convert.i.eq(held[k]), convert.dtype.eq(pair.destination)]
            results.append(Mux(kept, held[count + k], convert.o))
        packed = Signal(8 * count)
        source, destination = log_bytes(pair.source), log_bytes(pair.destination)
        with m.Switch(Cat(source, destination)):
            for log_source, log_destination in ((s, d) for s in range(3) for d in range(3)):
                elements = count >> max(log_source, log_destination)
                with m.Case(log_source | log_destination << 2):
                    m.d.comb += packed.eq(Cat(each[: WIDTHS[log_destination]] for each in results[:elements]))
        (out,) = registers.hold("codes", packed=packed)
        m.d.comb += [
            self.o.p.eq(out),
            self.o.valid.eq(registers.valid),
            self.i.ready.eq(registers.finish()),
        ]
        return m
