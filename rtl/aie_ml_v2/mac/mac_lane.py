"""Multiply-accumulate lane: the products of one beat and two accumulators in one fused addition.

``o = round(+-sum(x[k] * y[k]) +- acc1 +- acc2)`` for floats and MX; integers wrap modulo 2**32::

     operands                                         cycle
        |  [register "permuted"]                        2
     Products          multiply; add exponents          3
        |  [register "multiplied"]
        +------------------------+
     PostAdd, BlockTerms     FloatTerms                 4
     (integers, MX)              |  [register "float"]
        +------------------------+
     Compare  <-- acc1, acc2     largest exponent       4, floats 5
        |  [register "compared"]
     AlignToMax        shift to the largest exponent    5, floats 6
     Accumulate        add
        |  [register "added"]
     NormalizeFp32     FP32; integers bypass it         6, floats 7
        |
        o

The window of the addition, with F = ``align_fraction_bits`` (20 to 26; 23 in the reference preset), whose bit 0 weighs
``2**(exponent - 255 - F)`` for the largest exponent code::

      F+7 | F+6 ... F+1  F | F-1 ... F-14 ... F-20 ...  0 | G S
     -----+----------------+------------------------------+-----
     sign |  integer bits  |        fraction bits         | guard and sticky bit of each summand
          |<------ MX block pair ------->|                | magnitude at most 64, 14 fraction bits
          |         |<------ float product ----->|        | below 4, 20 fraction bits
          |              |<-------- accumulator --------->| below 2, 23 fraction bits

Each summand is shifted right by its distance to the largest exponent and rounded at bit 0. The sum of the rounded summands is
exact, and ``NormalizeFp32`` rounds it once to FP32. 8 bits above the fraction hold the sum: below 128, and a sign.

Latency: 4 cycles for integers and MX (from MX9's second beat), 5 for floats. Throughput: one beat a cycle; an MX9
instruction takes two beats, one of XDNA2's bfp16ebs8 (``config.bfp16ebs8``) takes one.

Ref: AM027, chapter 4, for the stages; llvm-aie, AIE2PSGenSchedule.td, for the cycles.
"""

from typing import Any

from amaranth import EnableInserter, Module, Mux, Signal, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.aie_ml_v2.declarations.modes import TIMINGS, Datapath
from bitpath.rtl.aie_ml_v2.mac.accumulate import CARRY_BITS, SHIFT16, Accumulate
from bitpath.rtl.aie_ml_v2.mac.align_to_max import AlignToMax
from bitpath.rtl.aie_ml_v2.mac.block_terms import BlockTerms
from bitpath.rtl.aie_ml_v2.mac.compare import Compare
from bitpath.rtl.aie_ml_v2.mac.config import MacLaneConfig
from bitpath.rtl.aie_ml_v2.mac.float_terms import FloatTerms
from bitpath.rtl.aie_ml_v2.mac.layouts import CHAINED_SUM_BITS, LANE_BITS, LaneOperands, MacControl
from bitpath.rtl.aie_ml_v2.mac.mac_mode import FLOAT_MODES, INTEGER_MODES, is_one_of
from bitpath.rtl.aie_ml_v2.mac.normalize import NormalizeFp32
from bitpath.rtl.aie_ml_v2.mac.post_add import INT16_PRODUCTS, PostAdd
from bitpath.rtl.aie_ml_v2.mac.products import Products
from bitpath.rtl.aie_ml_v2.mac.term_plan import TermPlan
from bitpath.rtl.common.pipeline.shared_instances import instantiate

OPERAND_CYCLE = 2
"""The cycle in which a lane takes its operands, where the issue is cycle 1; for MX9, counted from its second beat."""
FLOAT_LATENCY = TIMINGS[Datapath.FLOAT].write - OPERAND_CYCLE
"""Cycles from a float beat's operands to its result."""
LATENCY = TIMINGS[Datapath.MX6].write - OPERAND_CYCLE
"""Cycles from the operands of an integer or MX beat, MX9's second, to its result."""
ACC_LEAD = 2
"""Cycles from an instruction's accumulators to its result."""


class ChainIn(data.Struct):
    """Inputs of one of the two lanes of 32 bits that make a lane of 64."""

    wide: 1  # with the operands: the lane is half of 64 bits, in mode INT16
    negated: INT16_PRODUCTS  # with the operands: products that are subtracted
    products: LANE_BITS  # two cycles after the operands: this half of the sum of both lanes' products
    upper: 1  # constant: the lane is the upper half
    carry: CARRY_BITS  # three cycles after the operands, in the upper half: the lower half's carry
    acc1_below: SHIFT16  # with the carry: the high bits of the lower half's acc1


class ChainOut(data.Struct):
    """Outputs of either lane, in the cycles of the inputs."""

    sum: signed(CHAINED_SUM_BITS)
    carry: CARRY_BITS
    acc1_top: SHIFT16


class MacLane(wiring.Component):
    """``o = round(+-sum(x[k] * y[k]) +- acc1 +- acc2)`` in one of six modes.

    Handshake: ``valid`` qualifies ``operands``; there is no ready and no stall. The result appears LATENCY or FLOAT_LATENCY
    cycles later. Structural hazard: do not issue an MX or integer beat in the cycle after a float beat; both results would
    appear in the same cycle. No other valid beat may come between the two beats of an MX9 instruction.

    Parameters
    ----------
    config : MacLaneConfig, the numerics and the modes that the hardware supports.

    Members
    -------
    advance : In(1), in a lane that stalls: the clock enable of all registers; cycles without it do not count
    valid : In(1)
    operands : In(LaneOperands)
    acc1, acc2 : In(32), FP32 or INT32, sampled two cycles before the result
    o : Out(32), FP32 or INT32
    chain : In(ChainIn), in a chained lane: the neighbour of a 64-bit lane
    chained : Out(ChainOut), in a chained lane
    """

    def __init__(self, config: MacLaneConfig):
        self.config = config
        self.plan = TermPlan(config)
        super().__init__(
            {
                "valid": In(1),
                "operands": In(LaneOperands),
                "acc1": In(LANE_BITS),
                "acc2": In(LANE_BITS),
                "o": Out(LANE_BITS),
                **({"chain": In(ChainIn), "chained": Out(ChainOut)} if config.chained else {}),
                **({"advance": In(1)} if config.stalls else {}),
            }
        )

    def elaborate(self, platform):
        m = Module()
        products = self._multiply(m, platform)
        chain = self._chain(m) if self.config.chained else {}
        terms, control, product_sum = self._terms(m, platform, products, chain)

        compare = instantiate(m, platform, "compare", Compare, self.config)
        m.d.comb += [
            compare.terms.eq(terms),
            compare.acc1.eq(self.acc1),
            compare.acc2.eq(self.acc2),
            compare.control.eq(control),
        ]
        held = _register(
            m,
            "compared",
            terms=terms,
            control=control,
            product_sum=product_sum,
            acc1=self.acc1,
            acc2=self.acc2,
            exponent=compare.exponent,
            shifts=compare.shifts,
            acc_shifts=compare.acc_shifts,
            special=compare.special,
            **({"upper": chain["wide"] & self.chain.upper} if chain else {}),
        )

        align = instantiate(m, platform, "align", AlignToMax, self.config)
        accumulate = instantiate(m, platform, "accumulate", Accumulate, self.config)
        is_integer = is_one_of(held["control"].mode, INTEGER_MODES, self.config.modes)
        # Holds the window of the addition or a 32-bit integer sum.
        total = Signal(signed(max(self.plan.total_bits, LANE_BITS)))
        m.d.comb += [
            *(
                getattr(align, name).eq(held[name])
                for name in ("terms", "acc1", "acc2", "control", "shifts", "acc_shifts")
            ),
            *(getattr(accumulate, name).eq(held[name]) for name in ("product_sum", "acc1", "acc2", "control")),
            accumulate.wide.eq(align.wide),
            accumulate.narrow.eq(align.narrow),
            total.eq(Mux(is_integer, accumulate.integer_total, accumulate.total)),
        ]
        if self.config.chained:
            m.d.comb += [
                accumulate.upper.eq(held["upper"]),
                accumulate.carry_in.eq(self.chain.carry),
                accumulate.acc1_below.eq(self.chain.acc1_below),
                self.chained.carry.eq(accumulate.carry_out),
                self.chained.acc1_top.eq(held["acc1"][-SHIFT16:]),
            ]
        summed = _register(
            m, "added", total=total, is_integer=is_integer, exponent=held["exponent"], special=held["special"]
        )

        normalize = instantiate(m, platform, "normalize", NormalizeFp32, self.config)
        m.d.comb += [
            normalize.total.eq(summed["total"]),
            normalize.exponent.eq(summed["exponent"]),
            normalize.special.eq(summed["special"]),
            self.o.eq(Mux(summed["is_integer"], summed["total"][:LANE_BITS], normalize.o)),
        ]
        return EnableInserter(self.advance)(m) if self.config.stalls else m

    def _multiply(self, m: Module, platform: Any) -> tuple[data.View, Value]:
        """Return the registered products and their valid bit."""
        valid, operands = Signal(name="permuted_valid"), _register(m, "permuted", operands=self.operands)["operands"]
        multiply = instantiate(m, platform, "multiply", Products, self.config)
        # Needs no reset: a stale bit leaves the pipeline before a beat issued after reset reaches this stage.
        multiplied_valid = Signal(reset_less=True)
        products = _register(m, "multiplied", products=multiply.o)["products"]
        m.d.comb += multiply.i.eq(operands)
        m.d.sync += [valid.eq(self.valid), multiplied_valid.eq(valid)]
        return products, multiplied_valid

    def _chain(self, m: Module) -> dict[str, Value]:
        """Return the chain's inputs that come with the operands, in the cycle of the products."""
        inputs = {name: self.chain[name] for name in ("wide", "negated")}
        return _register(m, "chain_multiplied", **_register(m, "chain_permuted", **inputs))

    def _terms(
        self, m: Module, platform: Any, multiplied: tuple[data.View, Value], chain: dict[str, Value]
    ) -> tuple[Value, Value, Value]:
        """Return the terms to compare, their control, and the sum of integer products; floats take one more register."""
        products, valid = multiplied
        modes, mode = self.config.modes, products.control.mode
        post_add = instantiate(m, platform, "post_add", PostAdd, self.config)
        blocks = instantiate(m, platform, "block_terms", BlockTerms, self.config)
        m.d.comb += [
            post_add.i.eq(products),
            blocks.i.eq(products),
            blocks.products.eq(post_add.terms),
            blocks.sum.eq(post_add.o),
        ]
        product_sum = post_add.o[:LANE_BITS]
        if chain:
            product_sum = Mux(chain["wide"], self.chain.products, product_sum)
            negated = chain["negated"] & chain["wide"].replicate(INT16_PRODUCTS)
            m.d.comb += [post_add.negated.eq(negated), self.chained.sum.eq(post_add.o)]
        if not self.config.bfp16ebs8:
            held = Signal.like(blocks.held, name="first_half", reset_less=True)
            m.d.comb += blocks.held.eq(held)
            # Every valid beat overwrites it; only MX9's second beat, the next valid one after the first, reads it.
            with m.If(valid):
                m.d.sync += held.eq(blocks.to_hold)

        if not self.config.has(*FLOAT_MODES):
            return blocks.o, products.control, product_sum
        floats = instantiate(m, platform, "float_terms", FloatTerms, self.config)
        is_float = Signal(name="float_valid", reset_less=True)
        m.d.comb += floats.i.eq(products)
        m.d.sync += is_float.eq(valid & is_one_of(mode, FLOAT_MODES, modes))
        late = _register(m, "float", terms=floats.o, control=products.control)
        terms = Signal(self.plan.terms)
        control = Signal(MacControl)
        m.d.comb += [
            terms.eq(Mux(is_float, late["terms"], blocks.o)),
            control.eq(Mux(is_float, late["control"], products.control)),
        ]
        return terms, control, product_sum


def _register(m: Module, name: str, **values: Value) -> dict[str, Any]:
    """Return the values one cycle later, by name."""
    held = {key: Signal.like(value, name=f"{name}_{key}", reset_less=True) for key, value in values.items()}
    m.d.sync += [held[key].eq(value) for key, value in values.items()]
    return held
