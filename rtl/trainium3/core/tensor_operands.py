"""Operand memory of a core's array: what SBUF finds becomes a word of each row."""

from itertools import product
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
from bitpath.rtl.trainium3.core.lane_reader import WORD_BITS
from bitpath.rtl.trainium3.memory.sbuf import QUARTERS, SBUF_WORD_BYTES
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
    """Layout of a request to SBUF: bytes of operand and scale, or tags; ``moves``, a moving word, and its number; the ``place`` of
    the word in operand memory.

    A moving word of SPARSE has slots at ``byte``, ``scale``, and ``slots`` for the other two.
    """
    byte = config.walk.address_bits
    slots = {"slots": data.ArrayLayout(byte, len(SLOT_PORTS))} if config.has_sparse else {}
    return data.StructLayout(
        {
            "byte": byte,
            "scale": byte,
            "number": ceil_log2(config.size),
            "moves": 1,
            "place": range(config.array.operand_depth),
        }
        | slots
    )


class TensorOperands(wiring.Component):
    """Writes operand memory two cycles after a request; the rows of each quarter have requests of their own.

    A beat with elements of one byte has four of them in its slots of 16 bits. Rows of the array outside the instruction's get
    operands whose product adds nothing. Moving words of a transpose have a one in the row of their number.

    Parameters
    ----------
    config : the core's.

    Members
    -------
    instruction : In(tensor_layout), of each quarter: that of all requests that are on their way
    asks : In(1), request : In(request_layout), of each quarter
    data : In, SBUF's words of each of the core's ``main_ports``, a cycle later
    write : Out(operand_write_layout)
    illegal : Out(1), of a core with sparse PEs: a word has a tag outside its pattern
    """

    def __init__(self, config: CoreConfig):
        self.config = config
        super().__init__(
            {
                "instruction": In(tensor_layout(config)).array(QUARTERS),
                "asks": In(1).array(QUARTERS),
                "request": In(request_layout(config)).array(QUARTERS),
                "data": In(8 * SBUF_WORD_BYTES * config.size).array(len(config.main_ports)),
                "write": Out(operand_write_layout(config.array)),
            }
            | ({"illegal": Out(1)} if config.has_sparse else {})
        )

    def elaborate(self, platform):
        m = Module()
        config = self.config
        found, kept = (
            [Signal.like(each, name=f"{name}_{quarter}", reset_less=True) for quarter, each in enumerate(self.request)]
            for name in ("found", "kept")
        )
        came, there = Signal(QUARTERS), Signal(QUARTERS)
        words = [Signal(len(each), name=f"words_{port}", reset_less=True) for port, each in enumerate(self.data)]
        m.d.sync += [
            came.eq(Cat(self.asks)),
            there.eq(came),
            *(own.eq(each) for own, each in zip(words, self.data, strict=True)),
        ]
        m.d.comb += self.write.groups.eq(there)
        for quarter, request in enumerate(self.request):
            m.d.sync += [found[quarter].eq(request), kept[quarter].eq(found[quarter])]
            m.d.comb += self.write.address[quarter].eq(kept[quarter].place)
        byte_elements = [element_log_bytes(each.mode, each.stationary_format) == 0 for each in self.instruction]
        layout = core_word(config.dot)
        rows = []
        for p in range(config.size):
            held, at = self.instruction[self._quarter(p)], kept[self._quarter(p)]
            word = Signal(layout["bits"].shape, name=f"bits_{p}")
            own = Signal(8 * SBUF_WORD_BYTES, name=f"bytes_{p}")
            m.d.comb += own.eq(words[0].word_select(p, len(own)) >> (at.byte[:WORD_BITS] << 3))
            row = p - (held.start << exact_log2(config.tile_rows))
            spread = Cat(Cat(own.word_select(k, 8), Const(0, 8)) for k in range(LOAD_COLUMNS))
            with m.If(at.moves & (held.mode == Mode.PASS)):
                m.d.comb += word.eq(Mux(row == at.number, ONE, 0))
            with m.Elif(~at.moves & ((row < 0) | (row >= held.rows))):
                m.d.comb += word.eq(_minus_zeros(held.stationary_format))
            with m.Elif(at.moves | ~byte_elements[self._quarter(p)]):
                m.d.comb += word.eq(own)
            with m.Else():
                m.d.comb += word.eq(spread)
            rows.append(word)
        tags = [Const(0, 0)] * config.size
        if config.has_sparse:
            moving = self._slots(words, kept)
            sparse = [at.moves & (held.mode == Mode.SPARSE) for at, held in zip(kept, self.instruction, strict=True)]
            rows = [Mux(sparse[self._quarter(p)], moving[p], word) for p, word in enumerate(rows)]
            tags = self._tags(m, [each & ~at.moves for each, at in zip(there, kept, strict=True)], found)
        scales = self._scales(m, platform, came, found)
        packed = [
            Cat(word, (scales[k][p // SCALE_PARTITIONS % len(scales[k])] for k in range(LOAD_COLUMNS)), tags[p])
            for p, word in enumerate(rows)
        ]
        m.d.comb += Value.cast(self.write.words).eq(Cat(packed))
        return m

    def _quarter(self, p: int) -> int:
        return p // self.config.tile_rows

    def _slots(self, words: list[Signal], kept: list[Any]) -> list[Value]:
        """Return moving words of SPARSE: each row's has the slots of its group's partitions."""
        size = self.config.size
        own = []
        for p in range(size):
            at = kept[self._quarter(p)]
            own.append(
                [
                    (each.word_select(p, 8 * SBUF_WORD_BYTES) >> (byte[:WORD_BITS] << 3))[: FP32.width]
                    for each, byte in zip(words, (at.byte, at.scale, *at.slots), strict=True)
                ]
            )
        groups = []
        for p in range(size):
            partitions = [
                [p] * SLOTS,
                [p // 2 * 2 + q % 2 for q in range(SLOTS)],
                [p // 4 * 4 + q for q in range(SLOTS)],
            ]
            one, two, four = ([Cat(own[each]) for each in group] for group in partitions)
            pick = self.instruction[self._quarter(p)].pattern.last_partition
            groups.append(Cat(Mux(pick == 0, a, Mux(pick == 1, b, c)) for a, b, c in zip(one, two, four, strict=True)))
        return groups

    def _tags(self, m: Module, loads: list[Value], found: list[Any]) -> list[Value]:
        """Return the tags of a beat's columns in each row, and report one outside the pattern of a row that the instruction has."""
        config = self.config
        tags, wrong = [], []
        wides = [Value.cast(each.stationary_format).matches(*WIDE) for each in self.instruction]
        for p in range(config.size):
            quarter = self._quarter(p)
            held, wide, byte = self.instruction[quarter], wides[quarter], found[quarter].scale[:WORD_BITS]
            own = Signal(data.ArrayLayout(TAG, LOAD_COLUMNS), name=f"tags_{p}", reset_less=True)
            m.d.sync += Value.cast(own).eq(self.data[1].word_select(p, 8 * SBUF_WORD_BYTES) >> (byte << 3))
            tags.append(Value.cast(own))
            row = p - (held.start << exact_log2(config.tile_rows))
            inside = loads[quarter] & (held.mode == Mode.SPARSE) & (row >= 0) & (row < held.rows)
            for k, tag in enumerate(own):
                outside = (tag[2:] > held.pattern.last_partition) | (tag[:2] > held.pattern.last_slot)
                wrong.append(inside & outside & (~wide if k >= LOAD_COLUMNS // 2 else 1))
        m.d.comb += self.illegal.eq(Cat(wrong).any())
        return tags

    def _scales(self, m: Module, platform: Any, came: Value, found: list[Any]) -> list[list[Value]]:
        """Return scales of each eight rows, of the column at a byte and of the next ones; zeros in a core without MX."""
        config = self.config
        if not config.has_mx:
            return [[Const(0, E8M0.width)]] * LOAD_COLUMNS
        fetched: list[list[Value]] = [[] for _ in range(LOAD_COLUMNS)]
        for k, quadrant in product(range(LOAD_COLUMNS), range(config.size // QUADRANT)):
            first = quadrant * QUADRANT
            quarter = self._quarter(first)
            fetch = instantiate(m, platform, f"scales_{k}_{quadrant}", ScaleFetch, ScaleFetchConfig(quadrants=1))
            at = (found[quarter].scale + k)[:WORD_BITS]
            m.d.comb += [
                fetch.i.valid.eq(came[quarter]),
                fetch.o.ready.eq(1),
                fetch.i.p.offset.eq(self.instruction[quarter].scale_offset),
                fetch.i.p.quadrants.eq(1),
            ]
            for row in range(ROWS):
                column = self.data[1].word_select(first + row, 8 * SBUF_WORD_BYTES)
                m.d.comb += fetch.i.p.rows[0][row].eq(column.word_select(at, E8M0.width))
            fetched[k].extend(fetch.o.p)
        return fetched
