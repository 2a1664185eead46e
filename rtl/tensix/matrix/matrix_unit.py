"""The Matrix unit: executes instructions on SrcA, SrcB and Dst::

      write_a -> SrcRegister --+                    CellRow (x rows)     +-- write_dst
                               +-> OperandSelect -> PoolCell (x cols) -> DstRegister --> dst
      write_b -> SrcRegister --+                       ^                 |
                                                       +---- dst word ---+
      instruction -> issue: sources readable, and no result for the block in flight

Ref: tt-isa-documentation 3930471, MatrixUnit, MVMUL, GMPOOL, Dst.
"""

from dataclasses import replace
from itertools import pairwise
from typing import Any

from amaranth import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from bitpath.golden.tensix.declarations.formats import BLOCK_ROWS, COLUMNS, DST32, SRC
from bitpath.golden.tensix.declarations.numerics import WORMHOLE
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.common.unit import CLOCK, Covered, Judge, Unit, WaveGroup
from bitpath.rtl.tensix.dot.layouts import DotControl, DstRow, StyleCode
from bitpath.rtl.tensix.matrix.cell_row import LATENCY, CellRow, PoolCell
from bitpath.rtl.tensix.matrix.instruction import (
    DST_ROW_BITS,
    Instruction,
    MatrixUnitConfig,
    MoverConfig,
    Opcode,
    Zeroed,
)
from bitpath.rtl.tensix.matrix.mover import Move, Mover
from bitpath.rtl.tensix.matrix.operand_select import OperandSelect, chosen
from bitpath.rtl.tensix.matrix.registers import (
    BANKS,
    DstAddress,
    DstRegister,
    SrcRegister,
    dst_rows_layout,
    pair_of,
    src_write_layout,
)
from bitpath.rtl.tensix.pool.layouts import FRACTION_BITS, POOL_ROWS

# Results of the Matrix unit in flight to Dst, and which of them an access must wait for.


def flight_layout(config: MatrixUnitConfig) -> data.StructLayout:
    """Return the layout of a result in flight to Dst: its block, rows and column groups, and ``pools`` if it is GMPOOL's."""
    return data.StructLayout(
        {"address": DstAddress, "rows": BLOCK_ROWS, "columns": COLUMNS // config.cols, "pools": 1, "valid": 1}
    )


def in_flight(flights: list, address: Value) -> Value:
    """Return 1 if a result for the block that holds this row is in flight."""
    return Cat(
        flight.valid
        & (pair_of(flight.address) == pair_of(address))
        & (flight.address.dst32 | address.dst32 | (flight.address.row[3] == address.row[3]))
        for flight in flights
    ).any()


def zeroacc_waits(flights: list, address: Value, zeroed: Value) -> Value:
    """Return 1 if a ZEROACC must wait: its rows have results in flight, or a result lands while one row's flag takes the write port.

    16 rows are one pair of 16-bit blocks, or the upper halves of two pairs.
    """
    pair, row = pair_of(address), zeroed == Zeroed.ROW
    waits = [row & flights[-1].valid]
    for flight in flights:
        own, both = pair_of(flight.address), flight.address.dst32
        narrow = (own == pair) & (~row | both | (flight.address.row[3] == address.row[3]))
        wide = (own[1:] == pair[1:]) & (both | ~flight.address.row[3])
        half = (zeroed == Zeroed.HALF) & (own[-1] == pair[-1])
        some = (row | (zeroed == Zeroed.SIXTEEN)) & Mux(address.dst32, wide, narrow)
        waits.append(flight.valid & ((zeroed == Zeroed.ALL) | half | some))
    return Cat(waits).any()


class DstWrite(data.Struct):
    """A row of logical words to write to Dst."""

    values: DstRow
    address: DstAddress


ACCESS_ROWS = 4
"""Rows of Dst that the Vector unit reads or writes together."""


class DstAccess(data.Struct):
    """Four rows of Dst from a multiple of four, of 32-bit words with ``dst32``; words of 16 bits are BF16."""

    row: DST_ROW_BITS
    dst32: 1


class MatrixUnit(wiring.Component):
    """The Matrix unit with a grid of ``rows`` x ``cols`` dot products.

    Throughput is one instruction in ``config.passes`` cycles: 1 with the machine's 8x16 dot products. Latency is
    ``LATENCY + 1`` = 5 cycles from reading operands to the result in Dst.

    Stalls: an instruction waits until both sources are readable and no result for its Dst block is in flight. Reads and
    writes of Dst rows from outside wait likewise.

    Parameters
    ----------
    config : grid of dot products, numerics.
    write_rows : rows of SrcA or SrcB that one write has at most, up to 8.
    read_rows : rows of Dst that one read returns, 1 or 2; ``read_dst`` names the first, a multiple of their number.
    accesses : True adds ``access`` and its ports, for the Vector unit.
    moves : True adds ``move`` and ``handed_a``, and writes of SrcA may keep columns; needs writes of 8 rows.

    Members
    -------
    instruction : In(stream of Instruction)
    move : In(stream of Move), see `Mover`; not while there is an instruction
    access : In(stream of DstAccess), taken in a cycle without an instruction and a move, when no result for the rows is in flight;
        found : Out(4 rows), their words in this cycle; values : In(4 rows), stored : In(4), rows to write at its end
    handed_a : In(1), hand the unpacker's bank of SrcA to the Matrix unit, without a write
    write_a, write_b : In(streams of src_write_layout)
    free_a, free_b : Out(2), banks of SrcA and SrcB that belong to their unpackers
    write_dst : In(stream of DstWrite)
    read_dst : In(stream of DstAddress), dst : Out(stream of dst_rows_layout), one response for each request
    busy : Out(1), an instruction is waiting or in flight
    """

    def __init__(
        self,
        config: MatrixUnitConfig,
        *,
        write_rows: int = 1,
        read_rows: int = 1,
        moves: bool = False,
        accesses: bool = False,
    ):
        self.config = config
        self.write_rows, self.read_rows, self.moves, self.accesses = write_rows, read_rows, moves, accesses
        rows = ACCESS_ROWS * DstRow.size
        own = {
            "access": In(stream.Signature(DstAccess)),
            "found": Out(rows),
            "values": In(rows),
            "stored": In(ACCESS_ROWS),
        }
        super().__init__(
            (own if accesses else {})
            | ({"move": In(stream.Signature(Move)), "handed_a": In(1)} if moves else {})
            | {
                "instruction": In(stream.Signature(Instruction)),
                "write_a": In(stream.Signature(src_write_layout(write_rows, keeps=moves))),
                "write_b": In(stream.Signature(src_write_layout(write_rows))),
                "free_a": Out(BANKS),
                "free_b": Out(BANKS),
                "write_dst": In(stream.Signature(DstWrite)),
                "read_dst": In(stream.Signature(DstAddress)),
                "dst": Out(stream.Signature(dst_rows_layout(read_rows))),
                "busy": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config, instruction = self.config, self.instruction.p
        wide, moves = config.any_src_a_block, self.moves
        src_a = instantiate(
            m, platform, "src_a", SrcRegister, 2, self.write_rows, any_block=wide, moves=moves, keeps=moves
        )
        src_b = instantiate(m, platform, "src_b", SrcRegister, 1, self.write_rows, moves=moves)
        dst = instantiate(m, platform, "dst_register", DstRegister, config.cols, self.read_rows)
        select = instantiate(m, platform, "select", OperandSelect, config)
        connect(m, flipped(self.write_a), src_a.write)
        connect(m, flipped(self.write_b), src_b.write)

        flights = [Signal(flight_layout(config), name=f"flight_{age}") for age in range(1, LATENCY + 1)]
        address = Signal(DstAddress)
        m.d.comb += [
            address.row.eq(instruction.dst_row),
            address.dst32.eq(instruction.dst32),
            address.fp16.eq(instruction.style == StyleCode.FP16),
        ]
        step = Signal(range(config.passes))
        row_group, column_group = step[(COLUMNS // config.cols).bit_length() - 1 :], step[: len(select.column_group)]
        if not len(select.row_group):
            row_group = Const(0, 0)
        fire, last = self._issue(m, flights, address, step, src_a.readable & src_b.readable, dst)
        reads = Signal()  # the instruction reads its sources and Dst
        m.d.comb += [
            reads.eq(instruction.opcode != Opcode.ZEROACC),
            src_a.block.eq(instruction.src_a_row[3:]),
            src_b.block.eq(instruction.src_b_row[3:]),
            src_a.released.eq(fire & last & reads & instruction.release_a),
            src_b.released.eq(fire & last & reads & instruction.release_b),
            src_a.flipped.eq(fire & last & reads & instruction.flip_a),
            src_b.flipped.eq(fire & last & reads & instruction.flip_b),
            self.free_a.eq(src_a.free),
            self.free_b.eq(src_b.free),
            dst.address.eq(address),
            select.instruction.eq(instruction),
            select.row_group.eq(row_group),
            select.column_group.eq(column_group),
            select.src_a.eq(src_a.o),
            select.src_b.eq(src_b.o),
        ]
        results = self._grid(m, platform, select, dst, row_group, column_group)
        maxima = self._pool(m, platform, select, src_b.o, dst, fire, step) if config.pools else None

        in_group = Cat(select.written[row] & (row_group == row // config.rows) for row in range(BLOCK_ROWS))
        starting = Signal(flight_layout(config))
        m.d.comb += [
            starting.valid.eq(fire & reads),
            starting.address.eq(address),
            starting.rows.eq(in_group),
            starting.columns.eq(1 << column_group),
            starting.pools.eq(instruction.opcode == Opcode.GMPOOL),
        ]
        m.d.sync += [older.eq(younger) for younger, older in pairwise([starting, *flights])]
        self._write(m, starting, flights, results, maxima, dst)
        self._read(m, flights, dst)
        m.d.comb += self.busy.eq(self.instruction.valid | Cat(flight.valid for flight in flights).any())
        if moves:
            self._move(m, platform, src_a, src_b, dst, address, flights)
        if self.accesses:
            self._access(m, dst, address, flights)
        return m

    def _issue(
        self, m: Module, flights: list, address: Value, step: Signal, readable: Value, dst: DstRegister
    ) -> tuple[Value, Value]:
        """Return ``fire``, a pass begins in this cycle, and ``last``, it is the last of its instruction."""
        instruction = self.instruction.p
        is_zeroacc = instruction.opcode == Opcode.ZEROACC
        fire, last = Signal(), Signal()
        # The passes of one instruction write disjoint parts of its block, so they do not wait for each other.
        free = Mux(
            is_zeroacc,
            ~zeroacc_waits(flights, address, instruction.zeroed),
            readable & (step.any() | ~in_flight(flights, address)),
        )
        m.d.comb += [
            fire.eq(self.instruction.valid & free),
            last.eq(is_zeroacc | (step == self.config.passes - 1)),
            self.instruction.ready.eq(free & last),
            dst.zero.eq(fire & is_zeroacc),
            dst.zeroed.eq(instruction.zeroed),
        ]
        with m.If(fire):
            m.d.sync += step.eq(Mux(last, 0, step + 1))
        return fire, last

    def _grid(
        self, m: Module, platform: Any, select: OperandSelect, dst: DstRegister, row_group: Value, column_group: Value
    ) -> list[Value]:
        """Add the rows of dot products; return the results of each."""
        config, instruction = self.config, self.instruction.p
        control = Signal(DotControl)
        replaces = Signal()
        m.d.comb += [
            control.style.eq(instruction.style),
            control.dst32.eq(instruction.dst32),
            control.phase.eq(instruction.phase),
            control.add.eq((instruction.opcode == Opcode.ELWADD) | (instruction.opcode == Opcode.ELWSUB)),
            replaces.eq(control.add & ~instruction.accumulate),
        ]
        results = []
        for row in range(config.rows):
            cells = instantiate(m, platform, f"cells_{row}", CellRow, config.cols, config.numerics)
            # Dst words in the rows and columns of this pass.
            present = chosen(
                [dst.o.word_select(r, DstRow.size) for r in range(row, BLOCK_ROWS, config.rows)], row_group
            )
            words = [present.word_select(c, DST32.width) for c in range(COLUMNS)]
            selected = Cat(chosen(words[c :: config.cols], column_group) for c in range(config.cols))
            m.d.comb += [
                cells.a.eq(select.a),
                cells.b.eq(select.b[row]),
                cells.element_a.eq(select.element_a[row]),
                cells.element_b.eq(select.element_b[row]),
                cells.element_wise.eq(control.add | (instruction.opcode == Opcode.ELWMUL)),
                cells.control.eq(control),
                cells.dst.eq(Mux(replaces, 0, selected)),
            ]
            results.append(cells.o)
        return results

    def _pool(
        self, m: Module, platform: Any, select: OperandSelect, src_b: Value, dst: DstRegister, fire: Value, step: Signal
    ) -> list[Value]:
        """Add the columns of GMPOOL; return their four rows of results."""
        config, instruction = self.config, self.instruction.p
        pools = instruction.opcode == Opcode.GMPOOL
        # A pass's results make rows defined that later passes of the same instruction must read as undefined.
        held, undefined = Signal(BLOCK_ROWS, name="held_undefined"), Signal(BLOCK_ROWS)
        m.d.comb += undefined.eq(Mux(step.any(), held, dst.undefined))
        with m.If(fire & ~step.any()):
            m.d.sync += held.eq(dst.undefined)
        rows = []
        for k in range(POOL_ROWS):
            row, upper = Signal(DstRow.size, name=f"pool_row_{k}"), instruction.dst_row[2]
            absent = Mux(upper, undefined[k + POOL_ROWS], undefined[k]).replicate(DstRow.size)
            there = (dst.o.word_select(each, DstRow.size) for each in (k + POOL_ROWS, k))
            m.d.comb += row.eq(Mux(upper, *there) | absent)
            rows.append(row)
        words = [Cat(row.word_select(column, DST32.width) for row in rows) for column in range(COLUMNS)]
        scales = [src_b.word_select(k, SRC.width)[FRACTION_BITS:-1] for k in range(COLUMNS)]
        cells = []
        for column in range(config.cols):
            cell = instantiate(m, platform, f"pool_{column}", PoolCell, config.numerics)
            m.d.comb += [
                cell.load.eq(fire & pools),
                cell.i.rows.eq(select.words.word_select(column, COLUMNS * SRC.width)),
                cell.i.scales.eq(Cat(scales)),
                cell.i.dst.eq(chosen(words[column :: config.cols], select.column_group)),
                cell.i.control.style.eq(instruction.style),
                cell.i.control.dst32.eq(instruction.dst32),
                cell.i.control.argmax.eq(instruction.argmax),
            ]
            cells.append(cell)
        return [Cat(cell.o[k] for cell in cells) for k in range(POOL_ROWS)]

    def _write(
        self,
        m: Module,
        starting: Value,
        flights: list,
        results: list[Value],
        maxima: list[Value] | None,
        dst: DstRegister,
    ) -> None:
        """Write results to Dst, or rows from outside in cycles without a result."""
        config, outside = self.config, self.write_dst
        landing = flights[-1]
        computed = _repeated(results, COLUMNS // config.cols)
        if maxima is not None:
            computed = Mux(landing.pools, _repeated(maxima, COLUMNS // config.cols), computed)
        m.d.comb += dst.write_values.eq(Mux(landing.valid, computed, outside.p.values.as_value().replicate(BLOCK_ROWS)))
        # A pass that starts in this cycle has read its block; its result would overwrite a row written now.
        # The flag of a row that becomes undefined takes the write port.
        zeroes_row = dst.zero & (dst.zeroed == Zeroed.ROW)
        held = landing.valid | zeroes_row | in_flight([starting, *flights], outside.p.address)
        m.d.comb += outside.ready.eq(~held)
        with m.If(landing.valid):
            m.d.comb += [
                dst.write_address.eq(landing.address),
                dst.write_rows.eq(landing.rows),
                dst.write_columns.eq(landing.columns),
            ]
        with m.Elif(outside.valid & outside.ready):
            m.d.comb += [
                dst.write_address.eq(outside.p.address),
                dst.write_rows.eq(1 << outside.p.address.row[:3]),
                dst.write_columns.eq(~0),
            ]

    def _move(
        self,
        m: Module,
        platform: Any,
        src_a: SrcRegister,
        src_b: SrcRegister,
        dst: DstRegister,
        address: Signal,
        flights: list,
    ) -> None:
        """Add the mover, which has the registers while there is a move."""
        mover = instantiate(m, platform, "mover", Mover, MoverConfig(numerics=self.config.numerics))
        connect(m, flipped(self.move), mover.move)
        settled = ~in_flight(flights, address)
        m.d.comb += [
            mover.src_a.eq(src_a.o),
            mover.src_b.eq(src_b.o),
            mover.dst.eq(dst.o),
            mover.settled.eq(settled),
            mover.dst_ready.eq(settled & ~flights[-1].valid),
        ]
        change = mover.change
        for bit, (source, fill, pointers) in enumerate(
            ((src_a, mover.fill_a, mover.pointers_a), (src_b, mover.fill_b, mover.pointers_b))
        ):
            connect(m, fill, source.fill)
            m.d.comb += [
                pointers.eq(source.pointers),
                source.handed.eq(change.hand_over[bit] | (0 if bit else self.handed_a)),
                source.reset.eq(change.reset),
            ]
            with m.If(self.move.valid):
                m.d.comb += [source.released.eq(change.release[bit]), source.flipped.eq(change.flip[bit])]
        with m.If(self.move.valid):
            m.d.comb += [
                self.busy.eq(1),
                src_a.block.eq(mover.block_a),
                src_b.block.eq(mover.block_b),
                address.eq(mover.address),
                dst.stale.eq(mover.stale),
                self.write_dst.ready.eq(0),
            ]
        with m.If(mover.dst_rows.any()):
            m.d.comb += [
                dst.write_address.eq(mover.address),
                dst.write_values.eq(mover.dst_values),
                dst.write_rows.eq(mover.dst_rows),
                dst.write_columns.eq(~0),
            ]

    def _access(self, m: Module, dst: DstRegister, address: Signal, flights: list) -> None:
        """Give the Vector unit four rows of Dst, and take those that it writes."""
        access, upper = self.access.p, self.access.p.row[2]
        rest = ~self.instruction.valid & (~self.move.valid if self.moves else 1)
        size = ACCESS_ROWS * DstRow.size
        m.d.comb += [
            self.found.eq(dst.o.word_select(upper, size)),
            self.access.ready.eq(rest & ~in_flight(flights, address) & ~flights[-1].valid),
        ]
        with m.If(self.access.valid & rest):
            m.d.comb += [
                self.busy.eq(1),
                self.write_dst.ready.eq(0),
                address.row.eq(access.row),
                address.dst32.eq(access.dst32),
                address.fp16.eq(0),
            ]
        with m.If(self.access.valid & self.access.ready & self.stored.any()):
            m.d.comb += [
                dst.write_address.eq(address),
                dst.write_values.eq(self.values.replicate(BLOCK_ROWS // ACCESS_ROWS)),
                dst.write_rows.eq(Mux(upper, self.stored << ACCESS_ROWS, self.stored)),
                dst.write_columns.eq(~0),
            ]

    def _read(self, m: Module, flights: list, dst: DstRegister) -> None:
        """Return Dst rows to the outside through a register, so that the payload is stable until it is taken."""
        free = ~self.dst.valid | self.dst.ready
        clear = ~in_flight(flights, self.read_dst.p)
        m.d.comb += [dst.read_address.eq(self.read_dst.p), self.read_dst.ready.eq(free & clear)]
        with m.If(free):
            m.d.sync += [self.dst.valid.eq(self.read_dst.valid & clear), self.dst.p.eq(dst.read_o)]


def _repeated(rows: list[Value], groups: int) -> Value:
    """Return the rows of a block that rows of cells compute, each for all column groups."""
    return Cat([row.replicate(groups) for row in rows] * (BLOCK_ROWS // len(rows)))


RECORDS = (
    Unit(
        name="matrix_unit",
        config_type=MatrixUnitConfig,
        build=MatrixUnit,
        summary="Tensix: SrcA, SrcB and Dst, rows x cols dot products, cols maxima",
        covered=Covered(MatrixUnitConfig(), 60),
        judges=(Judge(23, MatrixUnitConfig(numerics=replace(WORMHOLE.numerics, row_broadcast_writes_all=True))),),
        waves=(
            CLOCK,
            WaveGroup("instruction", r"instruction__"),
            WaveGroup("unpackers", r"write_[ab]__"),
            WaveGroup("Dst from and to outside", r"(write_dst|read_dst|dst)__"),
            WaveGroup("in flight to Dst", r"(starting|flight_|fire|step)"),
            WaveGroup("SrcA and SrcB", r"src_[ab]\."),
            WaveGroup("operands of this pass", r"select\."),
            WaveGroup("Dst", r"dst_register\."),
            WaveGroup("first dot product", r"cells_0\.cell_0\."),
            WaveGroup("first row of dot products", r"cells_0\."),
            WaveGroup("first column of GMPOOL", r"pool_0\."),
        ),
    ),
)
