"""VectorE's exponential: exp(src - max_value) of several elements a cycle, with their running sum.

    difference   t = element - max_value, rounded to FP32
    argument     u = floor(|t| * log2(e)) on a fixed-point grid, inverted if t is negative
    power        y = 2**n * floor(T[i] * p(f)), with u = n + i * 2**-table_bits + f
    result       FP32, or BF16 above 16 zeros
    sum          accumulator + result, in the order of the elements

Ref: ``nki.isa.exponential`` reference page, NKI 0.5; "Trainium3 Architecture Guide for NKI". ``ExponentialNumerics``
defines the algorithm.
"""

from dataclasses import dataclass, field
from math import isqrt

from amaranth import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import data, enum, memory, stream, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import BF16, FP16, FP32
from bitpath.golden.trainium3.declarations.vector import TRAINIUM3_EXPONENTIAL, ExponentialNumerics
from bitpath.rtl.common.arithmetic.align import Align, Dropped, shift_of
from bitpath.rtl.common.arithmetic.decode import Decode, raw_sum
from bitpath.rtl.common.config import PipelineConfig, UnitConfig, in_range, require_range
from bitpath.rtl.common.fp32.fp32_arithmetic import UNPACKED, Fp32Add, Fp32Result, Fp32Sum, Fp32ToBf16
from bitpath.rtl.common.pipeline.faults import first_of
from bitpath.rtl.common.pipeline.pipeline_registers import PipelineRegisters
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.common.unit import CLOCK, INPUTS, OUTPUT, Covered, Judge, Unit, WaveGroup, registered
from bitpath.rtl.trainium3.faults import Fault, taken_if_legal


@dataclass(frozen=True, kw_only=True)
class ExponentialConfig(UnitConfig, unit="exponential"):
    """Configuration of a lane of VectorE's exponential.

    Attributes
    ----------
    width : elements a cycle; the machine's lanes take four.
    numerics : precision of table and constants; the result is FP32.
    pipeline : pipeline stages before the running sum.
    checks : whether controls are checked; without it they must be right.
    """

    width: int = in_range(1, 8, 4)
    numerics: ExponentialNumerics = TRAINIUM3_EXPONENTIAL.numerics
    pipeline: PipelineConfig = field(default_factory=lambda: PipelineConfig(stages=3))
    checks: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        numerics = self.numerics
        if numerics.result != FP32:
            raise ValueError(f"exponential: result must be FP32, not {numerics.result.name}")
        # Golden's instruction has the same upper limits; a power has at least the bits of its result.
        largest = TRAINIUM3_EXPONENTIAL.numerics
        require_range("exponential", "table_bits", numerics.table_bits, largest.table_bits, 10)
        bits = max(2 * numerics.table_bits, FP32.precision), largest.fraction_bits
        require_range("exponential", "fraction_bits", numerics.fraction_bits, *bits)
        require_range("exponential", "log2e_bits", numerics.log2e_bits, numerics.fraction_bits, largest.log2e_bits)
        require_range("exponential", "power_bits", numerics.power_bits, numerics.fraction_bits, largest.power_bits)


# Constants of VectorE's exponential, computed in integers at elaboration.


GUARD_BITS = 128
"""Guard bits of the computation; no constant is within them of half a unit in the last place."""
LN2_TERMS = ((18, 26), (-2, 4801), (8, 8749))
"""ln 2 is the sum of ``a * artanh(1 / b)`` over these pairs (a, b)."""


def _rounded(value: int) -> int:
    """Round to nearest and remove the guard bits."""
    return (value + (1 << GUARD_BITS - 1)) >> GUARD_BITS


def _ln2(bits: int) -> int:
    """ln 2 in units of ``2**-bits``, a few units too small."""
    total = 0
    for factor, inverse in LN2_TERMS:
        power, odd = (1 << bits) // inverse, 1
        while power:
            total += factor * (power // odd)
            power, odd = power // inverse**2, odd + 2
    return total


def ln2(numerics: ExponentialNumerics) -> int:
    """ln 2 to nearest, in units of ``2**-fraction_bits``."""
    return _rounded(_ln2(numerics.fraction_bits + GUARD_BITS))


def log2e(numerics: ExponentialNumerics) -> int:
    """1 / ln 2 to nearest, in units of ``2**-log2e_bits``."""
    bits = numerics.log2e_bits + GUARD_BITS
    return _rounded((1 << 2 * bits) // _ln2(bits))


def power_table(numerics: ExponentialNumerics) -> tuple[int, ...]:
    """``2**(i * 2**-table_bits)`` to nearest for every i, in units of ``2**-fraction_bits``.

    The product of repeated square roots of 2, one for each bit set in i.
    """
    bits = numerics.fraction_bits + GUARD_BITS
    root, roots = 2 << bits, []
    for _ in range(numerics.table_bits):
        root = isqrt(root << bits)
        roots.insert(0, root)
    table = []
    for index in range(1 << numerics.table_bits):
        power = 1 << bits
        for bit, factor in enumerate(roots):
            if index >> bit & 1:
                power = power * factor >> bits
        table.append(_rounded(power))
    return tuple(table)


# Argument of the exponential in powers of two: ``t * log2(e)`` in fixed point.
#
# Ref: step 1 of ``ExponentialNumerics``.


FAR = 8
"""From ``|t| = 2**FAR`` on, exp(t) overflows FP32 or is less than half of the smallest number."""
INTEGER_BITS = FAR + 2
"""Integer bits of ``t * log2(e)`` for ``|t| < 2**FAR``: one for log2(e) < 2, one for the sign."""


class ExponentialArgument(wiring.Component):
    """Combinational ``o = floor(|t| * log2(e))`` on the grid of ``2**-fraction_bits``, inverted if t is negative.

    For ``|t| >= 128``, infinities included, ``o`` is the argument of another t whose exp is infinite or zero too.

    Parameters
    ----------
    numerics : ``fraction_bits`` and ``log2e_bits``.

    Members
    -------
    t : In(32), FP32
    o : Out(signed(INTEGER_BITS + fraction_bits))
    nan : Out(1), 1 if t is NaN
    """

    clocked = False
    apart = True

    def __init__(self, numerics: ExponentialNumerics):
        self.numerics = numerics
        super().__init__(
            {
                "t": In(FP32.width),
                "o": Out(signed(INTEGER_BITS + numerics.fraction_bits)),
                "nan": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        numerics = self.numerics
        decode = instantiate(m, platform, "decode", Decode, (FP32,))
        number = decode.o

        factor = log2e(numerics)
        # The product's lowest bit has weight 2**(exponent - bias - FP32's fraction bits - log2e_bits). The lowest ``below``
        # bits lie below the grid for every exponent up to ``largest``.
        largest = FP32.bias + FAR - 1
        below = FP32.fraction_bits + numerics.log2e_bits - numerics.fraction_bits - (FAR - 2)
        product = Signal(FP32.precision + factor.bit_length() - below)
        shifted = Signal(signed(len(product) + 1))
        m.d.comb += [
            decode.code.eq(self.t),
            product.eq((number.significand * factor)[below:]),
            # Discarded bits do not affect the kept ones, so the inversion may come before the shift.
            shifted.eq(Cat(product ^ number.sign.replicate(len(product)), number.sign)),
        ]
        # A shift by the whole grid leaves the sign alone.
        shift_bits = len(self.o).bit_length()
        align = instantiate(
            m,
            platform,
            "align",
            Align,
            len(shifted),
            len(self.o),
            (1 << shift_bits) - 1,
            Dropped.TRUNCATED,
            twos_complement=True,
        )
        far = number.exponent > largest
        distance = Signal(FP32.exponent_bits + 1)
        m.d.comb += [
            # A far t gets the largest exponent below FAR: its exp overflows or underflows too.
            distance.eq(Mux(far, 0, largest - number.exponent)),
            align.i.eq(shifted),
            align.shift.eq(shift_of(distance, shift_bits)),
            self.o.eq(align.o),
            self.nan.eq(number.nan),
        ]
        return m


# Difference of the exponential: an element minus the row's maximum.
#
# Ref: ``nki.isa.exponential`` reference page, NKI 0.5.


NARROW = (BF16, FP16)
"""16-bit formats, above 16 zeros; one decoder for both has FP32's bias."""
SIGN = UNPACKED.const({"sign": 1}).as_bits()


class Source(enum.Enum, shape=2):
    """Format of elements; 16-bit codes take the upper half, above 16 zeros."""

    BF16 = 0
    FP16 = 1
    FP32 = 2


class ExponentialDifference(wiring.Component):
    """Combinational FP32 difference ``o = i - max_value``, rounded once to nearest even.

    Members
    -------
    i : In(32), a code of ``source``
    source : In(Source)
    max_value : In(32), FP32
    o : Out(32), FP32
    """

    clocked = False
    apart = True
    i: In(FP32.width)
    source: In(Source)
    max_value: In(FP32.width)
    o: Out(FP32.width)

    def elaborate(self, platform):
        m = Module()
        wide = instantiate(m, platform, "decode_wide", Decode, (FP32,))
        narrow = instantiate(m, platform, "decode_narrow", Decode, NARROW)
        maximum = instantiate(m, platform, "decode_max_value", Decode, (FP32,))
        total = instantiate(m, platform, "sum", Fp32Sum)
        padded = Cat(Const(0, FP32.precision - len(narrow.o.significand)), narrow.o)
        m.d.comb += [
            wide.code.eq(self.i),
            narrow.code.eq(self.i[-BF16.width :]),
            narrow.format.eq(self.source == Source.FP16),
            maximum.code.eq(self.max_value),
            total.a.eq(Mux(self.source == Source.FP32, wide.o, padded)),
            total.b.eq(maximum.o.as_value() ^ SIGN),
            self.o.eq(total.o),
        ]
        return m


# Powers of two from a table and a polynomial.
#
# Ref: steps 2 to 4 of ``ExponentialNumerics``.


class ExponentialPower(wiring.Component):
    """Combinational ``o = 2**n * floor(T[index] * p)``, where ``p = 1 + x + x**2 / 2`` with ``x = low * ln 2``::

        argument   | n, INTEGER_BITS | index, table_bits | low, fraction_bits - table_bits |

    Parameters
    ----------
    numerics : ``fraction_bits``, ``table_bits`` and ``power_bits``.

    Members
    -------
    i : In(signed(INTEGER_BITS + fraction_bits)), from :class:`ExponentialArgument`
    o : Out(raw_sum)
    """

    clocked = False
    apart = True

    def __init__(self, numerics: ExponentialNumerics):
        self.numerics = numerics
        bits = numerics.fraction_bits
        # T and p are less than 2; their product has 2 * bits fraction bits.
        self.dropped = max(0, 2 * bits - numerics.power_bits)
        power = raw_sum(2 * (bits + 1) - self.dropped, INTEGER_BITS + 1)
        super().__init__({"i": In(signed(INTEGER_BITS + bits)), "o": Out(power)})

    def elaborate(self, platform):
        m = Module()
        bits, table_bits = self.numerics.fraction_bits, self.numerics.table_bits
        low_bits = bits - table_bits
        low, index, integer = self.i[:low_bits], self.i[low_bits:bits], self.i[bits:].as_signed()

        m.submodules.table = table = memory.Memory(
            shape=bits + 1, depth=1 << table_bits, init=power_table(self.numerics)
        )
        read = table.read_port(domain="comb")
        entry = read.data
        linear = Signal(low_bits)  # as wide as ``low``, since ln 2 < 1
        # p - 1: linear + linear**2 / 2 is less than twice linear, one bit more.
        past_one = Signal(low_bits + 1)
        m.d.comb += [
            read.addr.eq(index),
            linear.eq((low * ln2(self.numerics)) >> bits),
            past_one.eq(linear + ((linear * linear) >> (bits + 1))),
            self.o.magnitude.eq(Cat(Const(0, bits - self.dropped), entry) + (entry * past_one)[self.dropped :]),
            self.o.exponent.eq(integer - (2 * bits - self.dropped)),
            self.o.sign.eq(0),
        ]
        return m


STEPS = {
    0: (),
    1: ("power",),
    2: ("difference", "power"),
    3: ("difference", "argument", "power"),
    4: ("difference", "argument", "power", "result"),
}
"""Steps that end in a pipeline register, by ``stages``; ``sum`` always does."""


class Reduce(enum.Enum, shape=2):
    """Effect of a beat on the accumulator."""

    IDLE = 0  # no addition; the instruction leaves the accumulator undefined
    RESET_REDUCE = 1  # add the elements to 0
    REDUCE = 2  # add the elements to the accumulator
    LOAD_REDUCE = 3  # add the elements to ``init``


def control_layout(config: ExponentialConfig) -> data.StructLayout:
    """Layout of a beat's control: ``bf16`` chooses the destination's format, else FP32. The first ``count`` elements are
    added. ``last`` passes to the result."""
    return data.StructLayout(
        {"reduce": Reduce, "init": FP32.width, "count": range(config.width + 1), "bf16": 1, "last": 1}
    )


def beat_layout(config: ExponentialConfig) -> data.StructLayout:
    """Layout of a beat: elements of a row, and the row's maximum."""
    return data.StructLayout(
        {
            "elements": data.ArrayLayout(FP32.width, config.width),
            "max_value": FP32.width,
            "source": Source,
            "control": control_layout(config),
        }
    )


def result_layout(config: ExponentialConfig) -> data.StructLayout:
    """Layout of a result: powers, FP32 or BF16 above 16 zeros, and the accumulator after this beat."""
    return data.StructLayout({"powers": data.ArrayLayout(FP32.width, config.width), "sum": FP32.width, "last": 1})


class Exponential(wiring.Component):
    """A lane that adds the ``width`` elements of each beat to the accumulator in order, each sum rounded to FP32.

    A row's first beat is RESET_REDUCE or LOAD_REDUCE, or REDUCE to continue the present sum; its other beats are REDUCE.
    The row's sum is that of its last beat.

    Latency is ``stages + 1`` cycles; throughput is one beat a cycle. A stall of ``o`` holds the whole pipeline.

    Parameters
    ----------
    config : width, numerics and pipeline, and whether controls are checked.

    Members
    -------
    i : In(stream of beat_layout)
    o : Out(stream of result_layout)
    fault : Out(Fault), DTYPE or COUNT in the cycle in which a beat of no source, or of more elements than there are, is taken;
        nothing comes of it
    """

    def __init__(self, config: ExponentialConfig):
        self.config = config
        super().__init__(
            {
                "i": In(stream.Signature(beat_layout(config))),
                "o": Out(stream.Signature(result_layout(config))),
                "fault": Out(Fault),
            }
        )

    @property
    def latency(self) -> int:
        """Cycles from a beat to its result."""
        return self.config.pipeline.stages + 1

    def elaborate(self, platform):
        m = Module()
        numerics, width = self.config.numerics, self.config.width
        wrong: Value = Value.cast(Fault.NONE)
        if self.config.checks:
            wrong = first_of(
                (~self.i.p.source.as_value().matches(*Source), Fault.DTYPE),
                (self.i.p.control.count > width, Fault.COUNT),
            )
        valid = taken_if_legal(m, self.i, self.fault, wrong)
        registers = PipelineRegisters(m, (*STEPS[self.config.pipeline.stages], "sum"), valid=valid, ready=self.o.ready)
        # Separate signals for each element: a change in one wide word would make a simulator evaluate all elements.
        differences = {}
        for k in range(width):
            difference = instantiate(m, platform, f"difference_{k}", ExponentialDifference)
            m.d.comb += [
                difference.i.eq(self.i.p.elements[k]),
                difference.source.eq(self.i.p.source),
                difference.max_value.eq(self.i.p.max_value),
            ]
            differences[f"t_{k}"] = difference.o
        control, *differences = registers.hold("difference", control=self.i.p.control, **differences)

        arguments = {}
        for k in range(width):
            argument = instantiate(m, platform, f"argument_{k}", ExponentialArgument, numerics)
            m.d.comb += argument.t.eq(differences[k])
            arguments |= {f"u_{k}": argument.o, f"nan_{k}": argument.nan}
        control, *arguments = registers.hold("argument", control=control, **arguments)

        powers = {}
        for k in range(width):
            power = instantiate(m, platform, f"power_{k}", ExponentialPower, numerics)
            m.d.comb += power.i.eq(arguments[2 * k])
            powers |= {f"y_{k}": power.o, f"y_nan_{k}": arguments[2 * k + 1]}
        control, *powers = registers.hold("power", control=control, **powers)

        results = {}
        for k in range(width):
            result = instantiate(m, platform, f"result_{k}", Fp32Result, powers[2 * k].shape())
            # The rounder detects overflow by itself.
            m.d.comb += [result.i.eq(powers[2 * k]), result.special.nan.eq(powers[2 * k + 1])]
            results[f"result_{k}"] = result.o
        control, *results = registers.hold("result", control=control, **results)

        stored = []
        for k in range(width):
            narrow = instantiate(m, platform, f"narrow_{k}", Fp32ToBf16)
            m.d.comb += [narrow.i.eq(results[k]), narrow.stochastic.eq(0), narrow.random.eq(0)]
            stored.append(Mux(control.bf16, narrow.o, results[k]))
        accumulator = Signal(FP32.width)
        total = self._add(m, platform, control, accumulator, results if numerics.sum_before_cast else stored)
        with m.If(registers.advance & registers.valid):
            m.d.sync += accumulator.eq(total)
        outputs = {f"stored_{k}": value for k, value in enumerate(stored)}
        total, last, *outputs = registers.hold("sum", total=total, last=control.last, **outputs)
        m.d.comb += [
            self.o.p.eq(Cat(*outputs, total, last)),
            self.o.valid.eq(registers.valid),
            self.i.ready.eq(registers.finish()),
        ]
        return m

    def _add(self, m: Module, platform, control, accumulator: Signal, terms: list) -> Signal:
        """Return the accumulator after a beat: a chain of ``width`` FP32 additions."""
        total = Signal(FP32.width, name="start")
        with m.Switch(control.reduce):
            with m.Case(Reduce.RESET_REDUCE):
                m.d.comb += total.eq(0)
            with m.Case(Reduce.LOAD_REDUCE):
                m.d.comb += total.eq(control.init)
            with m.Default():
                m.d.comb += total.eq(accumulator)
        for k, term in enumerate(terms):
            add = instantiate(m, platform, f"add_{k}", Fp32Add)
            after = Signal(FP32.width, name=f"total_{k}")
            takes = (control.reduce != Reduce.IDLE) & (control.count > k)
            m.d.comb += [add.a.eq(total), add.b.eq(term), after.eq(Mux(takes, add.o, total))]
            total = after
        return total


RECORDS = (
    Unit(
        name="exponential",
        config_type=ExponentialConfig,
        build=Exponential,
        summary="Trainium3: exp(src - max) with its running sum, a lane",
        covered=Covered(
            ExponentialConfig(width=4, pipeline=registered(3)),
            500,
            tests="corners|every_bf16_code/bf16=False|many|half|random|rows|latency|resets",
        ),
        judges=(Judge(13, ExponentialConfig()),),
        waves=(
            CLOCK,
            INPUTS,
            WaveGroup("first element", r"(difference|argument|power|result|narrow)_0\."),
            WaveGroup("differences", r"difference"),
            WaveGroup("arguments", r"argument"),
            WaveGroup("powers", r"(power|result)"),
            WaveGroup("sum", r"(accumulator|start|total|add_|sum)"),
            OUTPUT,
        ),
    ),
)
