"""Check of a bundle before its issue: operations that the tile lacks, or that meet another one at a port, become no-ops."""

from collections.abc import Iterable

from amaranth import Cat, Module, Signal, Value
from amaranth.lib import data, enum, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.aie_ml_v2.declarations.mover import SHUFFLE_CODES
from bitpath.golden.aie_ml_v2.declarations.tile import LINE_BYTES
from bitpath.rtl.aie_ml_v2.core.bundle import BUNDLE, LoadOp, MoveOp, PopFormat, StoreOp, VectorOp
from bitpath.rtl.aie_ml_v2.core.config import AieTileConfig
from bitpath.rtl.aie_ml_v2.core.load_units import FIFOS, TO_MEMORY
from bitpath.rtl.aie_ml_v2.core.store_unit import srs_size
from bitpath.rtl.aie_ml_v2.mover.shuffle import SHARE_BITS
from bitpath.rtl.aie_ml_v2.tile.agu import AguMode
from bitpath.rtl.aie_ml_v2.tile.slot_file import SLOTS

W, X, Y = range(3)
"""Logarithms of the W registers of a name, or of the bm registers: bm, cm, dm."""
DM = 2


class TileError(enum.Enum, shape=3):
    """What was wrong with the first operation that went wrong."""

    NONE = 0
    OPERATION = 1  # the tile does not have it, or not with these registers
    BUSY = 2  # an earlier operation, or one of the same bundle, takes its port, its slot or its FIFO
    UNALIGNED = 3  # its address, whose low bits were left out
    OUTSIDE = 4  # its address lies beyond the memory


class IssueCheck(wiring.Component):
    """Combinational, but for the operations of the cycle before.

    Parameters
    ----------
    config : AieTileConfig, the registers and the products that the tile has.

    Members
    -------
    advance : In(1), the bundle issues
    bundle : In(BUNDLE), zeros where there is none
    second : In(1), the slot vec is taken by an MX9 product
    issue : Out(BUNDLE), what is left of it
    error : Out(TileError), of the bundle
    """

    def __init__(self, config: AieTileConfig):
        self.config = config
        super().__init__(
            {
                "advance": In(1),
                "bundle": In(BUNDLE),
                "second": In(1),
                "issue": Out(BUNDLE),
                "error": Out(TileError),
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
            "lda": self._load(bundle.lda),
            "ldb": self._load(bundle.ldb),
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
        lacks, meets = [], []
        for slot, good in known.items():
            bad, meeting = Signal(name=f"{slot}_lacks"), Signal(name=f"{slot}_meets")
            m.d.comb += [bad.eq(~good), meeting.eq(busy[slot])]
            with m.If(bad | meeting):
                m.d.comb += self.issue[slot].eq(0)
            lacks.append(bad)
            meets.append(meeting)
        with m.If(Cat(lacks).any()):
            m.d.comb += self.error.eq(TileError.OPERATION)
        with m.Elif(Cat(meets).any()):
            m.d.comb += self.error.eq(TileError.BUSY)
        return m

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

    def _load(self, slot: data.View) -> Value:
        op = slot.op
        load = self._vector(slot.to, W) | self._vector(slot.to, X)
        # A jump's modifier moves the pointer.
        jump = ~(slot.jumps & (slot.address.mode == AguMode.INDEXED))
        pop = self._vector(slot.to, X) & _one_of(slot.format, PopFormat) & jump
        others = (LoadOp.NONE, LoadOp.FILL, LoadOp.POINTER)
        return _one_of(op, others) | ((op == LoadOp.LOAD) & load) | ((op == LoadOp.POP) & pop)

    def _store(self, slot: data.View) -> Value:
        op, source = slot.op, slot.source
        there = source.index < SLOTS * self.config.accumulators
        srs = (source.size <= DM) & _aligned(source) & there & (srs_size(slot) <= LINE_BYTES.bit_length() - 1)
        push = ((source.size == DM) & _aligned(source) & there) if self.config.multiply.mx9 else 0
        return (
            _one_of(op, (StoreOp.NONE, StoreOp.FLUSH, StoreOp.POINTER))
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
        integer = (
            _one_of(slot.native, self.config.multiply.products)
            & Cat(self._any_vector(slot.a), self._any_vector(slot.b)).all()
        )
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
    """Whether a name's lowest slot is one that a register of its size has."""
    return ~(register.index[:2] & Cat(register.size != W, register.size == Y)).any()
