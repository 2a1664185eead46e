"""Cast of the elements of a DMA beat from one dtype to another."""

from dataclasses import dataclass, field

from amaranth import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import BF16, E4M3, E4M3FN, E5M2, FP16, FP32, TF32, FloatFormat, Rounding
from bitpath.golden.trainium3.declarations.dma import TRAINIUM3_DMA
from bitpath.golden.trainium3.declarations.dtypes import FORMATS, TF32_SPARE_BITS, IntegerFormat, container_bits
from bitpath.rtl.common.arithmetic.decode import SPECIAL, Decode, raw_sum
from bitpath.rtl.common.arithmetic.round import increment
from bitpath.rtl.common.config import (
    PipelineConfig,
    UnitConfig,
    power_of_two,
    require_range,
)
from bitpath.rtl.common.fp32.fp32_arithmetic import Fp32Result
from bitpath.rtl.common.pipeline.pipeline_registers import PipelineRegisters
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.common.unit import CLOCK, INPUTS, OUTPUT, Covered, Judge, Unit, WaveGroup, registered
from bitpath.rtl.trainium3.dma.dtype import Dtype, dtypes_within
from bitpath.rtl.trainium3.faults import Fault, taken_if_legal

# Configurations of the DMA units.


TIMES = TRAINIUM3_DMA.numerics
BEAT_BYTES = TIMES.beat_bytes


@dataclass(frozen=True, kw_only=True)
class DmaCastConfig(UnitConfig, unit="dma_cast"):
    """Configuration of a cast of beats.

    Attributes
    ----------
    beat_bytes : bytes of a beat, a power of two from 4 to 32; the machine's have 32.
    pipeline : pipeline stages, 0 to 2.
    checks : whether dtypes are checked; without it they must be right.
    """

    beat_bytes: int = power_of_two(4, BEAT_BYTES, 4)
    pipeline: PipelineConfig = field(default_factory=lambda: PipelineConfig(stages=2))
    checks: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        require_range("dma_cast", "stages", self.pipeline.stages, 0, 2)


# Elements of any dtype to FP32.


BYTE_FLOATS = {Dtype.E4M3: E4M3, Dtype.E4M3FN: E4M3FN, Dtype.E5M2: E5M2}
EXPONENT_BITS = FP32.exponent_bits
"""Bits of the signed exponent of a number's last place; the rounder takes its difference to FP32's smallest one."""


class ToFp32(wiring.Component):
    """Combinational FP32 code of an element: exact, but for INT32 and UINT32, which round to nearest even.

    Integers and floats narrower than FP32's exponent range pass one normalisation and rounding. FP32, TF32 and BF16 have
    FP32's fields: their codes move up, TF32 rounded to 10 fraction bits. Every NaN is canonical.

    Parameters
    ----------
    bits : width of the element's port, 8, 16 or 32; wider dtypes are left out.

    Members
    -------
    code : In(bits), the element in the low bits
    dtype : In(Dtype)
    o : Out(32), FP32
    """

    clocked = False
    apart = True

    def __init__(self, bits: int):
        self.bits = bits
        super().__init__({"code": In(bits), "dtype": In(Dtype), "o": Out(FP32.width)})

    def elaborate(self, platform):
        m = Module()
        value = Signal(raw_sum(self.bits, EXPONENT_BITS))
        special = Signal(SPECIAL)
        self._floats(m, platform, "byte", BYTE_FLOATS, value, special)
        if self.bits > FP16.width // 2:
            self._floats(m, platform, "half", {Dtype.FP16: FP16}, value, special)
        with m.Switch(self.dtype):
            for dtype, name in dtypes_within(self.bits).items():
                fmt = FORMATS[name]
                if isinstance(fmt, IntegerFormat):
                    with m.Case(dtype):
                        self._integer(m, fmt, value)
        result = instantiate(m, platform, "result", Fp32Result, value.shape())
        m.d.comb += [result.i.eq(value), result.special.eq(special), self.o.eq(result.o)]
        if self.bits >= BF16.width:
            self._upper(m)
        return m

    def _floats(
        self, m: Module, platform, name: str, formats: dict[Dtype, FloatFormat], value: Value, special: Value
    ) -> None:
        """Decode the floats of one width."""
        decode = instantiate(m, platform, f"decode_{name}", Decode, tuple(formats.values()))
        number = decode.o
        offset = max(fmt.bias for fmt in formats.values()) + max(fmt.fraction_bits for fmt in formats.values())
        m.d.comb += decode.code.eq(self.code)
        with m.Switch(self.dtype):
            for index, dtype in enumerate(formats):
                with m.Case(dtype):
                    m.d.comb += [
                        decode.format.eq(index),
                        value.magnitude.eq(number.significand),
                        value.exponent.eq(number.exponent - offset),
                        value.sign.eq(number.sign),
                        special.sign.eq(number.sign),
                        special.inf.eq(number.inf),
                        special.nan.eq(number.nan),
                    ]

    def _integer(self, m: Module, fmt: IntegerFormat, value: Value) -> None:
        integer = self.code[: fmt.width]
        negative = integer[-1] if fmt.signed else Const(0)
        magnitude = Mux(negative, -integer.as_signed(), integer)
        m.d.comb += [value.magnitude.eq(magnitude[: fmt.width]), value.sign.eq(negative)]

    def _upper(self, m: Module) -> None:
        """Formats with FP32's sign and exponent."""
        upper = Signal(FP32.width)
        finite = Signal()
        nan = Signal()
        taken = Signal()
        half = (1 << TF32_SPARE_BITS - 1) - 1
        rounded = Signal(FP32.width)
        m.d.comb += [
            finite.eq(~upper[FP32.fraction_bits : -1].all()),
            nan.eq(~finite & upper[: FP32.fraction_bits].any()),
            rounded.eq(upper + Mux(finite, half + upper[TF32_SPARE_BITS], 0)),
        ]
        code = Value.cast(upper)
        with m.Switch(self.dtype):
            with m.Case(Dtype.BF16):
                m.d.comb += [upper.eq(Cat(Const(0, FP32.width - BF16.width), self.code[: BF16.width])), taken.eq(1)]
            if self.bits == FP32.width:
                with m.Case(Dtype.FP32):
                    m.d.comb += [upper.eq(self.code), taken.eq(1)]
                with m.Case(Dtype.TF32):
                    m.d.comb += [upper.eq(self.code), taken.eq(1)]
        if self.bits == FP32.width:
            code = Mux(self.dtype == Dtype.TF32, Cat(Const(0, TF32_SPARE_BITS), rounded[TF32_SPARE_BITS:]), upper)
        with m.If(taken):
            m.d.comb += self.o.eq(Mux(nan, FP32.nan_code, code))


# FP32 to elements of any dtype.


class FromFp32(wiring.Component):
    """Combinational rounding of an FP32 number to an element, to nearest even; one shifter and one increment for all dtypes.

    ::

        window      1.xxxxxxxxxxxxxxxxxxxxxxx 00000000     significand, above zeros where integers have 32 bits
        shift       width - precision, + emin - exponent below the smallest normal number
                    width - 1 - exponent for an integer
        kept | guard | sticky                              kept + increment, below the exponent field of a float

    A carry out of a float's fraction increments its exponent field. A float beyond the largest is infinity, or NaN in E4M3FN;
    an integer saturates. NaN is canonical, and 0 in an integer.

    Parameters
    ----------
    bits : width of the element's port, 8, 16 or 32; wider dtypes are left out.

    Members
    -------
    i : In(32), FP32 with at most ``bits`` significant bits, as all numbers of ``ToFp32(bits)`` have; lower ones are not read
    dtype : In(Dtype)
    o : Out(bits), the element in the low bits, zeros above
    """

    clocked = False
    apart = True

    def __init__(self, bits: int):
        self.bits = bits
        super().__init__({"i": In(FP32.width), "dtype": In(Dtype), "o": Out(bits)})

    def elaborate(self, platform):
        m = Module()
        sign, field, fraction = self.i[-1], self.i[FP32.fraction_bits : -1], self.i[: FP32.fraction_bits]
        normal = Signal()
        special = Signal()
        nan = Signal()
        biased = Signal(FP32.exponent_bits)
        m.d.comb += [
            normal.eq(field.any()),
            special.eq(field.all()),
            nan.eq(special & fraction.any()),
            biased.eq(Mux(normal, field, 1)),
        ]
        dtypes = {dtype: FORMATS[name] for dtype, name in dtypes_within(self.bits).items()}

        # A shift beyond the window leaves sticky alone; one below 0 belongs to an integer out of range.
        wanted = Signal(signed(FP32.exponent_bits + 2))
        subnormal = Signal()
        with m.Switch(self.dtype):
            for dtype, fmt in dtypes.items():
                with m.Case(dtype):
                    if isinstance(fmt, IntegerFormat):
                        m.d.comb += wanted.eq(self.bits - 1 + FP32.bias - biased)
                    else:
                        lowest = fmt.emin + FP32.bias
                        m.d.comb += [
                            subnormal.eq(biased < lowest),
                            wanted.eq(self.bits - fmt.precision + Mux(subnormal, lowest - biased, 0)),
                        ]
        places = Signal(range(self.bits + 2))
        m.d.comb += places.eq(Mux(wanted > self.bits + 1, self.bits + 1, wanted))
        below = self.bits + 1
        shifted = Signal(self.bits + below)
        significand = Cat(fraction, normal)[-self.bits :]
        padding = Const(0, below + self.bits - len(significand))
        m.d.comb += shifted.eq(Cat(padding, significand) >> places)
        kept, guard, sticky = shifted[below:], shifted[below - 1], shifted[: below - 1].any()
        up = increment(Rounding.RNE, odd=kept[0], guard=guard, sticky=sticky, negative=sign)
        rounded = Signal(self.bits + 1)
        m.d.comb += rounded.eq(kept + up)

        with m.Switch(self.dtype):
            for dtype, fmt in dtypes.items():
                with m.Case(dtype):
                    if isinstance(fmt, IntegerFormat):
                        beyond = special | (wanted < 0)
                        m.d.comb += self.o.eq(Mux(nan, 0, self._integer(m, fmt, rounded, sign, beyond)))
                    else:
                        exponent = Mux(subnormal, 0, biased - (FP32.bias - fmt.bias + 1))
                        m.d.comb += self.o.eq(self._float(m, fmt, rounded, exponent, sign, special, nan))
        return m

    def _integer(self, m: Module, fmt: IntegerFormat, rounded: Value, sign: Value, beyond: Value) -> Value:
        limit = Mux(sign, -fmt.lowest, fmt.highest)
        magnitude = Mux(beyond | (rounded > limit), limit, rounded)
        return Mux(sign, -magnitude, magnitude)[: fmt.width]

    def _float(
        self, m: Module, fmt: FloatFormat, rounded: Value, exponent: Value, sign: Value, special: Value, nan: Value
    ) -> Value:
        code = Signal(FP32.width + 1, name=f"code_{fmt.name.lower()}")
        m.d.comb += code.eq(rounded + (exponent[: FP32.exponent_bits] << fmt.fraction_bits))
        beyond = special | (code > fmt.max_code)
        magnitude = Mux(beyond, fmt.infinity_code or fmt.nan_code, code)[: fmt.width - 1]
        has_sign = sign if fmt.infinity_code is not None else sign & ~beyond
        result = Mux(nan, fmt.nan_code, Cat(magnitude, has_sign))
        return Cat(Const(0, TF32_SPARE_BITS), result) if fmt is TF32 else result


STEPS = {0: (), 1: ("fp32",), 2: ("fp32", "codes")}
"""Steps that end in a pipeline register, by ``stages``."""
WIDTHS = (8, 16, 32)


class Pair(data.Struct):
    """Dtypes of a beat's elements."""

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
    """Return 1 if a dtype does not exist."""
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


RECORDS = (
    Unit(
        name="dma_cast",
        config_type=DmaCastConfig,
        build=DmaCast,
        summary="Trainium3: a DMA beat from one of 13 dtypes to another",
        covered=Covered(DmaCastConfig(beat_bytes=4, pipeline=registered(2)), 400),
        judges=(Judge(40, DmaCastConfig(), 300),),
        waves=(
            CLOCK,
            INPUTS,
            WaveGroup("first element", r"(to_fp32_0|from_fp32_0)\."),
            WaveGroup("elements", r"(element|to_fp32)"),
            WaveGroup("FP32 numbers", r"fp32_"),
            WaveGroup("results", r"(from_fp32|packed|codes)"),
            OUTPUT,
        ),
    ),
)
