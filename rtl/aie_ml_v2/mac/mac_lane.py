"""One lane of the multiply-accumulate, from operands to a result for its accumulator.

Ref: AM027, chapter 4, for the stages; llvm-aie, AIE2PSGenSchedule.td, for the cycles.
"""

from typing import Any

from amaranth import Module, Mux, Signal, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.aie_ml_v2.declarations.modes import TIMINGS, Datapath
from bitpath.rtl.aie_ml_v2.mac.accumulate import Accumulate
from bitpath.rtl.aie_ml_v2.mac.align_to_max import AlignToMax
from bitpath.rtl.aie_ml_v2.mac.block_terms import BlockTerms
from bitpath.rtl.aie_ml_v2.mac.compare import Compare
from bitpath.rtl.aie_ml_v2.mac.config import MacLaneConfig
from bitpath.rtl.aie_ml_v2.mac.float_terms import FloatTerms
from bitpath.rtl.aie_ml_v2.mac.layouts import LANE_BITS, LaneOperands, MacControl
from bitpath.rtl.aie_ml_v2.mac.mac_mode import FLOAT_MODES, INTEGER_MODES, is_one_of
from bitpath.rtl.aie_ml_v2.mac.normalize import NormalizeFp32
from bitpath.rtl.aie_ml_v2.mac.post_add import PostAdd
from bitpath.rtl.aie_ml_v2.mac.products import Products
from bitpath.rtl.aie_ml_v2.mac.term_plan import TermPlan
from bitpath.rtl.common.pipeline.shared_instances import instantiate

OPERAND_CYCLE = 2
"""In which cycle of an instruction its lanes take operands, the issue being 1; for MX9, of its second beat."""
FLOAT_LATENCY = TIMINGS[Datapath.FLOAT].write - OPERAND_CYCLE
LATENCY = TIMINGS[Datapath.MX6].write - OPERAND_CYCLE
"""Cycles from operands, MX9's second beat, to the result: of floats, and of all else."""
ACC_LEAD = 2
"""Cycles from an instruction's accumulators to its result."""


class MacLane(wiring.Component):
    """``o = +-sum(x[k] * y[k]) +- acc1 +- acc2`` in one of six modes, a beat a cycle; MX9 takes two beats.

    Register ranks stand where the cycles of the timing table end: after permute (2), multiply (3), for floats one more (4),
    compare (the cycle of the post-add, for floats 5) and add. A float's result appears 5 cycles after its operands, any
    other 4. Two that would appear together do not work: a beat that is no float must not follow a float's at once.
    Operands without ``valid`` do nothing.

    Parameters
    ----------
    config : numerics and modes.

    Members
    -------
    valid : In(1), operands : In(LaneOperands)
    acc1, acc2 : In(32), two cycles before the result
    o : Out(32)
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
            }
        )

    def elaborate(self, platform):
        m = Module()
        products = self._multiply(m, platform)
        terms, control, product_sum = self._terms(m, platform, products)

        compare = instantiate(m, platform, "compare", Compare, self.config)
        m.d.comb += [
            compare.terms.eq(terms),
            compare.acc1.eq(self.acc1),
            compare.acc2.eq(self.acc2),
            compare.control.eq(control),
        ]
        held = _rank(
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
        )

        align = instantiate(m, platform, "align", AlignToMax, self.config)
        accumulate = instantiate(m, platform, "accumulate", Accumulate, self.config)
        is_integer = is_one_of(held["control"].mode, INTEGER_MODES, self.config.modes)
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
        summed = _rank(
            m, "added", total=total, is_integer=is_integer, exponent=held["exponent"], special=held["special"]
        )

        normalize = instantiate(m, platform, "normalize", NormalizeFp32, self.config)
        m.d.comb += [
            normalize.total.eq(summed["total"]),
            normalize.exponent.eq(summed["exponent"]),
            normalize.special.eq(summed["special"]),
            self.o.eq(Mux(summed["is_integer"], summed["total"][:LANE_BITS], normalize.o)),
        ]
        return m

    def _multiply(self, m: Module, platform: Any) -> tuple[data.View, Value]:
        """The third stage: products, and whether there are any."""
        valid, operands = Signal(name="permuted_valid"), _rank(m, "permuted", operands=self.operands)["operands"]
        multiply = instantiate(m, platform, "multiply", Products, self.config)
        # Whatever was here at a reset is gone before what comes behind it could meet it.
        multiplied_valid = Signal(reset_less=True)
        products = _rank(m, "multiplied", products=multiply.o)["products"]
        m.d.comb += multiply.i.eq(operands)
        m.d.sync += [valid.eq(self.valid), multiplied_valid.eq(valid)]
        return products, multiplied_valid

    def _terms(self, m: Module, platform: Any, multiplied: tuple[data.View, Value]) -> tuple[Value, Value, Value]:
        """The fourth stage: what is compared, its control, and a sum of integers. Floats go through one rank more."""
        products, valid = multiplied
        modes, mode = self.config.modes, products.control.mode
        post_add = instantiate(m, platform, "post_add", PostAdd, self.config)
        blocks = instantiate(m, platform, "block_terms", BlockTerms, self.config)
        held = Signal.like(blocks.held, name="first_half", reset_less=True)
        m.d.comb += [
            post_add.i.eq(products),
            blocks.i.eq(products),
            blocks.products.eq(post_add.terms),
            blocks.sum.eq(post_add.o),
            blocks.held.eq(held),
        ]
        # Of every beat: the one behind MX9's first is its second, and no other reads what is held.
        with m.If(valid):
            m.d.sync += held.eq(blocks.to_hold)

        if not self.config.has(*FLOAT_MODES):
            return blocks.o, products.control, post_add.o
        floats = instantiate(m, platform, "float_terms", FloatTerms, self.config)
        is_float = Signal(name="float_valid", reset_less=True)
        m.d.comb += floats.i.eq(products)
        m.d.sync += is_float.eq(valid & is_one_of(mode, FLOAT_MODES, modes))
        late = _rank(m, "float", terms=floats.o, control=products.control)
        terms = Signal(self.plan.terms)
        control = Signal(MacControl)
        m.d.comb += [
            terms.eq(Mux(is_float, late["terms"], blocks.o)),
            control.eq(Mux(is_float, late["control"], products.control)),
        ]
        return terms, control, post_add.o


def _rank(m: Module, name: str, **values: Value) -> dict[str, Any]:
    """A register rank."""
    held = {key: Signal.like(value, name=f"{name}_{key}", reset_less=True) for key, value in values.items()}
    m.d.sync += [held[key].eq(value) for key, value in values.items()]
    return held
