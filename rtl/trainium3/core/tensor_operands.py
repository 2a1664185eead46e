"""Operand memory of a core's array: what SBUF finds becomes a word of each row."""

from typing import Any

from amaranth import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2, exact_log2

from bitpath.golden.formats.catalogue import BF16, E8M0, FP32
from bitpath.golden.trainium3.declarations.quad_mx import QUADRANT, SCALE_PARTITIONS
from bitpath.golden.trainium3.declarations.tensor import LOAD_COLUMNS
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.trainium3.array.core_edge import core_word
from bitpath.rtl.trainium3.array.systolic_array import operand_write_layout
from bitpath.rtl.trainium3.core.config import SLOT_PORTS, CoreConfig
from bitpath.rtl.trainium3.core.instruction import tensor_layout
from bitpath.rtl.trainium3.core.lane_reader import QUARTERS, WORD_BITS
from bitpath.rtl.trainium3.memory.sbuf import SBUF_WORD_BYTES
from bitpath.rtl.trainium3.memory.scale_fetch import ROWS, ScaleFetch, ScaleFetchConfig
from bitpath.rtl.trainium3.tensor.core_pe import Mode
from bitpath.rtl.trainium3.tensor.element_decode import BYTES, OperandFormat
from bitpath.rtl.trainium3.tensor.sparse_select import SLOTS, TAG

ONE = BF16.bias << BF16.fraction_bits
"""Moving element of the row that a transpose takes a column from."""
WIDE = (OperandFormat.TF32, OperandFormat.FP32)


def element_log_bytes(mode: Value, fmt: Value) -> Value:
    """Return the logarithm of the bytes of an operand's element: an x4 word in MX, two elements in double row."""
    byte = Value.cast(fmt).matches(*BYTES)
    wide = Value.cast(fmt).matches(*WIDE)
    own = Mux(byte, 0, Mux(wide, 2, 1))
    return Mux(mode == Mode.MX, Mux(fmt == OperandFormat.E2M1, 1, 2), Mux(mode == Mode.DOUBLE_ROW, 1, own))


def _minus_zeros(fmt: Value) -> Value:
    """Return stationary elements of rows without an operand: times +0 they give -0, which adds nothing."""
    half, byte, nibble = 1 << 15, 0x80, 0x88
    found: Value = Const(half, 16).replicate(4)
    found = Mux(Value.cast(fmt).matches(*WIDE), Const(half << 16, 32).replicate(2), found)
    found = Mux(Value.cast(fmt).matches(*BYTES), Const(byte, 8).replicate(8), found)
    return Mux(fmt == OperandFormat.E2M1, Const(nibble, 8).replicate(8), found)


def request_layout(config: CoreConfig) -> data.StructLayout:
    """Layout of a request to SBUF: bytes of operand and scale, or tags, in their words; ``moves``, a moving word, and its number.

    A moving word of SPARSE has slots at ``byte``, ``scale``, and ``slots`` for the other two.
    """
    slots = {"slots": data.ArrayLayout(WORD_BITS, len(SLOT_PORTS))} if config.has_sparse else {}
    return data.StructLayout(
        {
            "byte": WORD_BITS,
            "scale": WORD_BITS,
            "number": ceil_log2(config.size),
            "moves": 1,
        }
        | slots
    )


class TensorOperands(wiring.Component):
    """Writes operand memory two cycles after a request, in order, at rising places.

    A beat with elements of one byte has four of them in its slots of 16 bits. Rows of the array outside the instruction's get
    operands whose product adds nothing. Moving words of a transpose have a one in the row of their number.

    Parameters
    ----------
    config : the core's.

    Members
    -------
    instruction : In(tensor_layout), of all requests that are on their way
    asks : In(1), request : In(request_layout); data, scale_data : In, SBUF's words, a cycle later
    slot_data : In, words of slots 2 and 3, of a core with sparse PEs
    write : Out(operand_write_layout)
    present : Out, the place behind the words in operand memory
    illegal : Out(1), of a core with sparse PEs: a word has a tag outside its pattern
    """

    def __init__(self, config: CoreConfig):
        self.config = config
        words = 8 * SBUF_WORD_BYTES * config.size
        super().__init__(
            {
                "instruction": In(tensor_layout(config)),
                "asks": In(1),
                "request": In(request_layout(config)),
                "data": In(words),
                "scale_data": In(words),
                "write": Out(operand_write_layout(config.array)),
                "present": Out(ceil_log2(config.array.operand_depth)),
            }
            | ({"slot_data": In(words).array(len(SLOT_PORTS)), "illegal": Out(1)} if config.has_sparse else {})
        )

    def elaborate(self, platform):
        m = Module()
        config, held = self.config, self.instruction
        found, kept = (Signal.like(self.request, name=name, reset_less=True) for name in ("found", "kept"))
        came, there = Signal(), Signal()
        words = Signal(len(self.data), reset_less=True)
        m.d.sync += [
            came.eq(self.asks),
            found.eq(self.request),
            there.eq(came),
            words.eq(self.data),
            kept.eq(found),
            self.present.eq(self.present + there),
        ]
        m.d.comb += [
            self.write.address.eq(self.present),
            self.write.groups.eq(there.replicate(len(self.write.groups))),
        ]
        byte_elements = element_log_bytes(held.mode, held.stationary_format) == 0
        passes = held.mode == Mode.PASS
        layout = core_word(config.dot)
        rows = []
        for p in range(config.size):
            word = Signal(layout["bits"].shape, name=f"bits_{p}")
            own = Signal(8 * SBUF_WORD_BYTES, name=f"bytes_{p}")
            m.d.comb += own.eq(words.word_select(p, len(own)) >> (kept.byte << 3))
            row = p - (held.start << exact_log2(config.size // QUARTERS))
            spread = Cat(Cat(own.word_select(k, 8), Const(0, 8)) for k in range(LOAD_COLUMNS))
            with m.If(kept.moves & passes):
                m.d.comb += word.eq(Mux(row == kept.number, ONE, 0))
            with m.Elif(~kept.moves & ((row < 0) | (row >= held.rows))):
                m.d.comb += word.eq(_minus_zeros(held.stationary_format))
            with m.Elif(kept.moves | ~byte_elements):
                m.d.comb += word.eq(own)
            with m.Else():
                m.d.comb += word.eq(spread)
            rows.append(word)
        tags = [Const(0, 0)] * config.size
        if config.has_sparse:
            moving = self._slots(m, words, kept)
            rows = [
                Mux(kept.moves & (held.mode == Mode.SPARSE), slots, word)
                for slots, word in zip(moving, rows, strict=True)
            ]
            tags = self._tags(m, there & ~kept.moves, found.scale)
        scales = self._scales(m, platform, held, came, found.scale)
        packed = [
            Cat(word, (scales[k][p // SCALE_PARTITIONS % len(scales[k])] for k in range(LOAD_COLUMNS)), tags[p])
            for p, word in enumerate(rows)
        ]
        m.d.comb += Value.cast(self.write.words).eq(Cat(packed))
        return m

    def _slots(self, m: Module, words: Value, kept) -> list[Value]:
        """Return moving words of SPARSE: each row's has the slots of its group's partitions."""
        size, pattern = self.config.size, self.instruction.pattern
        held = [words]
        for slot, found in enumerate((self.scale_data, *self.slot_data), start=1):
            beside = Signal.like(found, name=f"words_{slot}", reset_less=True)
            m.d.sync += beside.eq(found)
            held.append(beside)
        own = [
            [
                (each.word_select(p, 8 * SBUF_WORD_BYTES) >> (byte << 3))[: FP32.width]
                for each, byte in zip(held, (kept.byte, kept.scale, *kept.slots), strict=True)
            ]
            for p in range(size)
        ]
        groups = []
        for p in range(size):
            partitions = [
                [p] * SLOTS,
                [p // 2 * 2 + q % 2 for q in range(SLOTS)],
                [p // 4 * 4 + q for q in range(SLOTS)],
            ]
            one, two, four = ([Cat(own[each]) for each in group] for group in partitions)
            pick = pattern.last_partition
            groups.append(Cat(Mux(pick == 0, a, Mux(pick == 1, b, c)) for a, b, c in zip(one, two, four, strict=True)))
        return groups

    def _tags(self, m: Module, loads: Value, byte: Value) -> list[Value]:
        """Return the tags of a beat's columns in each row, and report one outside the pattern of a row that the instruction has."""
        config, held = self.config, self.instruction
        tags, wrong = [], []
        wide = Value.cast(held.stationary_format).matches(*WIDE)
        for p in range(config.size):
            own = Signal(data.ArrayLayout(TAG, LOAD_COLUMNS), name=f"tags_{p}", reset_less=True)
            m.d.sync += Value.cast(own).eq(self.scale_data.word_select(p, 8 * SBUF_WORD_BYTES) >> (byte << 3))
            tags.append(Value.cast(own))
            row = p - (held.start << exact_log2(config.size // QUARTERS))
            inside = (row >= 0) & (row < held.rows)
            for k, tag in enumerate(own):
                outside = (tag[2:] > held.pattern.last_partition) | (tag[:2] > held.pattern.last_slot)
                wrong.append(inside & outside & (~wide if k >= LOAD_COLUMNS // 2 else 1))
        m.d.comb += self.illegal.eq(loads & (held.mode == Mode.SPARSE) & Cat(wrong).any())
        return tags

    def _scales(self, m: Module, platform: Any, held, came: Value, byte: Value) -> list[Any]:
        """Return scales of each eight rows, of the column at a byte and of the next ones; zeros in a core without MX."""
        config = self.config
        if not config.has_mx:
            return [[Const(0, E8M0.width)]] * LOAD_COLUMNS
        fetched = []
        fetch_config = ScaleFetchConfig(quadrants=config.size // QUADRANT)
        for k in range(LOAD_COLUMNS):
            fetch = instantiate(m, platform, f"scales_{k}", ScaleFetch, fetch_config)
            at = (byte + k)[:WORD_BITS]
            m.d.comb += [
                fetch.i.valid.eq(came),
                fetch.o.ready.eq(1),
                fetch.i.p.offset.eq(held.scale_offset),
                fetch.i.p.quadrants.eq((1 << fetch_config.quadrants) - 1),
            ]
            for p in range(config.size):
                if p % QUADRANT < ROWS:
                    column = self.scale_data.word_select(p, 8 * SBUF_WORD_BYTES)
                    m.d.comb += fetch.i.p.rows[p // QUADRANT][p % QUADRANT].eq(column.word_select(at, E8M0.width))
            fetched.append(fetch.o.p)
        return fetched
