"""Check of a bundle before its issue: operations that the tile lacks, that meet another one, or whose address is wrong, become no-ops.

Ref: llvm-aie, operand classes of target aie2ps, for immediates; UG1583 for modifiers; AM020 for natural alignment.
"""

from collections.abc import Iterable

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from bitpath.golden.aie_ml_v2.declarations.codes import RoundingCode, Saturation
from bitpath.golden.aie_ml_v2.declarations.mover import SHUFFLE_CODES
from bitpath.golden.aie_ml_v2.declarations.tile import ADDRESS_BITS, BANK_BYTES, LINE_BYTES
from bitpath.rtl.aie_ml_v2.core.address_unit import REGISTERS, STORE_POINTER
from bitpath.rtl.aie_ml_v2.core.bundle import BUNDLE, LoadOp, MoveOp, PopFormat, StoreOp, VectorOp
from bitpath.rtl.aie_ml_v2.core.config import AieTileConfig
from bitpath.rtl.aie_ml_v2.core.load_units import FIFOS, TO_MEMORY
from bitpath.rtl.aie_ml_v2.core.store_unit import srs_size
from bitpath.rtl.aie_ml_v2.faults import Fault
from bitpath.rtl.aie_ml_v2.mover.shuffle import SHARE_BITS
from bitpath.rtl.aie_ml_v2.tile.agu import AguMode
from bitpath.rtl.aie_ml_v2.tile.slot_file import SLOTS
from bitpath.rtl.aie_ml_v2.vector.config import INTEGER_PRODUCTS
from bitpath.rtl.aie_ml_v2.vector.native_shapes import ROUTES, NativeShape
from bitpath.rtl.common.pipeline.faults import first_of
from bitpath.rtl.common.unit import Covered, Judge, Unit

W, X, Y = range(3)
"""Logarithms of the W registers of a name, or of the bm registers: bm, cm, dm."""
DM = 2
AGUS = ("lda", "ldb", "st")
"""Slots that update pointers, in the order in which they go."""
OUTER = REGISTERS // 2
"""Register of a 3D address's outer dimension, beyond its own."""
OPERAND_SIZES = {
    shape: tuple(
        exact_log2((1 + max(max(places(lane)) for lane in range(route.lanes))) * bits // (8 * BANK_BYTES))
        for places, bits in ((route.x, route.x_bits), (route.y, route.y_bits))
    )
    for shape, route in zip(NativeShape, ROUTES.values(), strict=True)
    if shape in INTEGER_PRODUCTS
}
"""Logarithms of the W registers that hold the operands of an integer product, of a sparse one without their mask."""


class IssueCheck(wiring.Component):
    """Combinational, but for the operations of the cycles before.

    Of two operations of a bundle that meet, the one in the later slot of lda, ldb, st is refused.

    Parameters
    ----------
    config : AieTileConfig, the registers, the products and the memory that the tile has.

    Members
    -------
    advance : In(1), the bundle issues
    bundle : In(BUNDLE), zeros where there is none
    second : In(1), the slot vec is taken by an MX9 product
    lda_address, ldb_address, st_address : In(20), to which the bundle's addresses lead
    pushed : In(20), pointer of the store FIFO; holds : In(1), it holds bytes
    issue : Out(BUNDLE), what is left of it
    fault : Out(Fault), of the bundle
    """

    def __init__(self, config: AieTileConfig):
        self.config = config
        super().__init__(
            {
                "advance": In(1),
                "bundle": In(BUNDLE),
                "second": In(1),
                **{f"{slot}_address": In(ADDRESS_BITS) for slot in AGUS},
                "pushed": In(ADDRESS_BITS),
                "holds": In(1),
                "issue": Out(BUNDLE),
                "fault": Out(Fault),
            }
        )

    def elaborate(self, platform):
        m = Module()
        bundle = self.bundle
        had = {"lda": self._had_pop(bundle.lda), "ldb": self._had_pop(bundle.ldb), "st": self._had_push(bundle.st)}
        before = {}
        for slot, now in had.items():
            before[slot] = Signal(name=f"{slot}_before")
            with m.If(self.advance):
                m.d.sync += before[slot].eq(now)
        known = {
            "lda": self._load("lda"),
            "ldb": self._load("ldb"),
            "st": self._store(bundle.st),
            "mv": self._move(bundle.mv),
            "vec": self._product(bundle.vec),
        }
        taken = self._pointers(m)
        uses = [_uses_fifo(slot) for slot in (bundle.lda, bundle.ldb)]
        busy = {
            "lda": (before["lda"] & (bundle.lda.op == LoadOp.LOAD)) | (_uses_pointer(bundle.lda) & taken["lda"]),
            "ldb": (before["ldb"] & (bundle.ldb.op == LoadOp.LOAD))
            | (_uses_pointer(bundle.ldb) & taken["ldb"])
            | (uses[0] & uses[1] & (bundle.lda.fifo == bundle.ldb.fifo)),
            "st": (before["st"] & (bundle.st.op == StoreOp.SRS))
            | (((bundle.st.op == StoreOp.SRS) | (bundle.st.op == StoreOp.POINTER)) & taken["st"]),
            "mv": 0,
            "vec": self.second & (bundle.vec.op != VectorOp.NONE),
        }
        m.d.comb += self.issue.eq(bundle)
        updated = self._updated(bundle)
        found = {fault: [] for fault in (Fault.OPERATION, Fault.BUSY, Fault.UNALIGNED, Fault.RANGE)}
        for slot, good in known.items():
            shared = Cat(Cat(own & other).any() for own, other in self._earlier(updated, slot)).any()
            unaligned, outside = self._wrong_address(slot) if slot in AGUS else (0, 0)
            wrongs = dict(zip(found, (~good, busy[slot] | shared, unaligned, outside), strict=True))
            refused = Signal(name=f"{slot}_refused")
            m.d.comb += refused.eq(Cat(Value.cast(wrong).any() for wrong in wrongs.values()).any())
            with m.If(refused):
                m.d.comb += self.issue[slot].eq(0)
            for fault, wrong in wrongs.items():
                found[fault].append(Value.cast(wrong).any())
        m.d.comb += self.fault.eq(first_of(*((Cat(wrong).any(), fault) for fault, wrong in found.items())))
        return m

    def _updated(self, bundle: data.View) -> dict[str, Value]:
        """Return a bit for each pointer, and for each counter, that a slot's operation updates."""
        updated = {}
        for slot in AGUS:
            address, own = bundle[slot].address, bundle[slot]
            jumps = (own.op == LoadOp.POP) & own.jumps if slot != "st" else 0
            steps = _uses_pointer(own) if slot != "st" else (own.op == StoreOp.SRS) | (own.op == StoreOp.POINTER)
            pointers = Mux(steps & (address.mode != AguMode.INDEXED), 1 << address.pointer, 0)
            if slot == "st":
                pointers |= Mux(self._had_push(own), 1 << STORE_POINTER, 0)
            counted = (address.mode == AguMode.TWO_D) | (address.mode == AguMode.THREE_D)
            outer = Mux(address.mode == AguMode.THREE_D, 1 << (address.register[:2] + OUTER), 0)
            counters = Mux((steps | jumps) & counted, 1 << address.register | outer, 0)
            updated[slot] = Cat(pointers[:REGISTERS], counters[:REGISTERS])
        return updated

    def _earlier(self, updated: dict[str, Value], slot: str) -> list[tuple[Value, Value]]:
        """Return the registers that a slot updates, paired with those of each slot before it."""
        slots = list(updated)
        return [(updated[slot], updated[each]) for each in slots[: slots.index(slot)]] if slot in updated else []

    def _wrong_address(self, slot: str) -> tuple[Value, Value]:
        """Return whether a slot's access is not aligned, and whether it lies beyond the memory."""
        own, address = self.bundle[slot], getattr(self, f"{slot}_address")
        beyond = address[self.config.memory.used_bits :].any()
        if slot == "st":
            accesses = own.op == StoreOp.SRS
            stores = (own.op == StoreOp.PUSH) | (own.op == StoreOp.FLUSH) & self.holds
            outside = (accesses & beyond) | (stores & self.pushed[self.config.memory.used_bits :].any())
        else:
            accesses = own.op == LoadOp.LOAD
            outside = accesses & beyond
        below = (1 << self._width_log2(slot)) - 1
        return accesses & (address & below)[: LINE_BYTES.bit_length()].any(), outside

    def _width_log2(self, slot: str) -> Value:
        """Return the logarithm of the bytes by which a slot's immediates count: those of its access, or of a line."""
        own, line = self.bundle[slot], LINE_BYTES.bit_length() - 1
        if slot == "st":
            return Mux(own.op == StoreOp.SRS, srs_size(own), line)
        return Mux((own.op == LoadOp.LOAD) & (own.to.size == W), BANK_BYTES.bit_length() - 1, line)

    def _modifier(self, slot: str) -> Value:
        """Return whether an address has a modifier that there is: of 3D one of four, an immediate without counters, of 4 signed bits
        in steps of its width."""
        address, log2 = self.bundle[slot].address, self._width_log2(slot)
        counted = (address.mode == AguMode.TWO_D) | (address.mode == AguMode.THREE_D)
        register = (address.mode != AguMode.THREE_D) | ~address.register[-1]
        steps = address.immediate >> log2
        immediate = ~counted & ((steps << log2) == address.immediate) & (steps >= -8) & (steps < 8)
        return Mux(address.is_immediate, immediate, register)

    def _pointers(self, m: Module) -> dict[str, Value]:
        """Return for each slot whether its pointer is that of a load FIFO whose operations are on their way."""
        flying = []
        for number in range(FIFOS):
            now, earlier = Signal(name=f"fifo_{number}_now"), Signal(TO_MEMORY, name=f"fifo_{number}_before")
            slots = [self.bundle[slot] for slot in ("lda", "ldb")]
            m.d.comb += now.eq(Cat(_uses_fifo(slot) & (slot.fifo == number) for slot in slots).any())
            with m.If(self.advance):
                m.d.sync += earlier.eq(Cat(now, earlier))
            flying.append(now | earlier.any())
        return {
            slot: Cat(own & (self.bundle[slot].address.pointer == number) for number, own in enumerate(flying)).any()
            for slot in ("lda", "ldb", "st")
        }

    def _vector(self, register: data.View, size: int) -> Value:
        """Return whether a name is that of a vector register of a size."""
        return (register.size == size) & self._any_vector(register)

    def _any_vector(self, register: data.View) -> Value:
        return (register.size <= Y) & _aligned(register) & (register.index < SLOTS * self.config.pairs)

    def _had_pop(self, slot: data.View) -> Value:
        return slot.op == LoadOp.POP

    def _had_push(self, slot: data.View) -> Value:
        return (slot.op == StoreOp.PUSH) | (slot.op == StoreOp.FLUSH)

    def _load(self, name: str) -> Value:
        slot = self.bundle[name]
        op = slot.op
        load = self._vector(slot.to, W) | self._vector(slot.to, X)
        # A jump's modifier moves its FIFO's pointer.
        address, counted = slot.address, _one_of(slot.address.mode, (AguMode.TWO_D, AguMode.THREE_D))
        register = (address.mode != AguMode.THREE_D) | ~address.register[-1]
        moves = (address.mode != AguMode.INDEXED) & (address.pointer == slot.fifo)
        jump = ~slot.jumps | (moves & Mux(address.is_immediate, ~counted, register))
        pop = self._vector(slot.to, X) & _one_of(slot.format, PopFormat) & jump
        modifier = self._modifier(name)
        return (
            _one_of(op, (LoadOp.NONE, LoadOp.FILL))
            | ((op == LoadOp.POINTER) & modifier)
            | ((op == LoadOp.LOAD) & load & modifier)
            | ((op == LoadOp.POP) & pop)
        )

    def _store(self, slot: data.View) -> Value:
        op, source = slot.op, slot.source
        there = source.index < SLOTS * self.config.accumulators
        fits = srs_size(slot) <= LINE_BYTES.bit_length() - 1
        rounds, saturates, modifier = (
            _one_of(slot.rounding, RoundingCode),
            _one_of(slot.saturation, Saturation),
            self._modifier("st"),
        )
        srs = (source.size <= DM) & _aligned(source) & there & fits & rounds & saturates & modifier
        push = ((source.size == DM) & _aligned(source) & there & rounds) if self.config.multiply.mx9 else 0
        return (
            _one_of(op, (StoreOp.NONE, StoreOp.FLUSH))
            | ((op == StoreOp.POINTER) & modifier)
            | ((op == StoreOp.SRS) & srs)
            | ((op == StoreOp.PUSH) & push)
        )

    def _move(self, slot: data.View) -> Value:
        if not self.config.multiply.mx9:
            return slot.op == MoveOp.NONE
        registers = [getattr(slot, name) for name in ("to", "low", "high")]
        wide = [code for code, mode in SHUFFLE_CODES.items() if mode.bits >= SHARE_BITS]
        narrow = [code for code, mode in SHUFFLE_CODES.items() if mode.bits < SHARE_BITS]
        code = _one_of(slot.code, wide) | (_one_of(slot.code, narrow) & ~slot.exponents)
        return (slot.op == MoveOp.NONE) | (Cat(self._vector(each, X) for each in registers).all() & code)

    def _product(self, slot: data.View) -> Value:
        op = slot.op
        integer = Cat(
            (slot.native == shape) & self._vector(slot.a, sizes[0]) & self._vector(slot.b, sizes[1])
            for shape, sizes in OPERAND_SIZES.items()
            if shape in self.config.multiply.products
        ).any()
        mx9 = (
            Cat(self._vector(slot.a, X), self._vector(slot.b, Y), self._vector(slot.b_high, Y)).all()
            if self.config.multiply.mx9
            else 0
        )
        there = slot.to < self.config.accumulators
        return (op == VectorOp.NONE) | (there & (((op == VectorOp.INTEGER) & integer) | ((op == VectorOp.MX9) & mx9)))


def _uses_pointer(slot: data.View) -> Value:
    return (slot.op == LoadOp.LOAD) | (slot.op == LoadOp.POINTER)


def _uses_fifo(slot: data.View) -> Value:
    return (slot.op == LoadOp.FILL) | (slot.op == LoadOp.POP)


def _one_of(value: Value, allowed: Iterable) -> Value:
    return Cat(value == each for each in allowed).any()


def _aligned(register: data.View) -> Value:
    """Return 1 if a name's lowest slot suits a register of its size."""
    return ~(register.index[:2] & Cat(register.size != W, register.size == Y)).any()


RECORDS = (
    Unit(
        name="issue_check",
        config_type=AieTileConfig,
        build=IssueCheck,
        summary="AIE-ML v2: what the tile refuses of a bundle",
        covered=Covered(AieTileConfig(), 300),
        judges=(Judge(100, AieTileConfig(), 300),),
    ),
)
