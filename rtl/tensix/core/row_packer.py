"""Packer of a core: rows of a PACR from Dst to L1::

      cycle   0       1 .. n          n + 1           n + 5         n + 6          n + 7
      PACR    taken   rows requested  last Dst row    last packed   last written   exponents of block floats written

      L1      exponents of block floats, a byte for each row | 0 up to 16 bytes
              datums | 0 up to 16 bytes

Exponents are gathered, and written once for 16 bytes of L1 and once behind a packer's last row.

Ref: tt-isa-documentation 3930471, PACR, Packers.
"""

from amaranth import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from bitpath.golden.tensix.declarations.formats import COLUMNS, DST16_BF16, Chip, Format
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.tensix.core.config import ChipConfig, TensixCoreConfig
from bitpath.rtl.tensix.core.dst_rows import RowOrder, ordered
from bitpath.rtl.tensix.core.l1_memory import LINE_BITS, LINE_BYTES, line_address_bits
from bitpath.rtl.tensix.dot.layouts import DstRow
from bitpath.rtl.tensix.engine.command import MAX_ROWS_PER_WORD_LOG2, has_exponents, rows_per_word_log2
from bitpath.rtl.tensix.matrix.instruction import DST_ROW_BITS
from bitpath.rtl.tensix.matrix.registers import HALF, DstAddress, to_physical
from bitpath.rtl.tensix.pack.layouts import PackControl
from bitpath.rtl.tensix.pack.packer import Packer
from bitpath.rtl.tensix.sfpu.sfp_stochastic_round import PrngLane, PrngSeed
from bitpath.rtl.tensix.sfpu.stochastic_round import LANE_BITS, RANDOM_BITS
from bitpath.rtl.tensix.unpack.layouts import EXPONENT_BITS, ROW_BITS

PACKERS = {Chip.WORMHOLE: 4, Chip.BLACKHOLE: 1}
SOURCES = 4
"""Packers of Wormhole, or read interfaces of Blackhole's packer."""
ROW_COUNT_BITS = DST_ROW_BITS + 1
ADDRESS_BITS = 17
"""Bits of a packer's address in units of 16 bytes, of L1s up to 2 MiB."""
WORD_BYTES_LOG2, LINE_WORDS_LOG2, LINE_BYTES_LOG2 = 2, 2, 4
"""Bytes of the narrowest row, of 2-bit datums; such words, and bytes, of the 16 bytes that an address counts."""
FLUSH_STEPS = 2
"""Writes of a flush: the rest of 16 bytes of datums, and of exponents."""
ROW_WORDS = ROW_BITS // 8 >> WORD_BYTES_LOG2
"""Words of the widest row."""


def pack_rows_layout(config: ChipConfig) -> data.StructLayout:
    """Return the layout of a PACR.

    - ``sources`` : the packers or read interfaces that take part; each reads ``rows`` Dst rows, at least 1, from its ``first`` on.
    - ``begins``, ``exponents`` : addresses in units of 16 bytes at which each packer writes datums, and exponents of block floats, if
      its last PACR was the last one.
    - ``last`` : the rest of 16 bytes becomes 0, and the next PACR of these packers begins at its address.
    - ``flush`` : no row is read; the rest of 16 bytes becomes 0 as with ``last``. It has `FLUSH_STEPS` ``rows`` of each packer.
    - ``zero`` : all words count as 0.
    - ``stochastic`` : early conversion rounds by random numbers, which each row steps.
    - ``order`` : Dst's rows are permuted.
    """
    addresses = data.ArrayLayout(ADDRESS_BITS, PACKERS[config.chip])
    return data.StructLayout(
        {
            "sources": SOURCES,
            "first": data.ArrayLayout(DST_ROW_BITS, SOURCES),
            "rows": ROW_COUNT_BITS,
            "begins": addresses,
            "exponents": addresses,
            "last": 1,
            "flush": 1,
            "zero": 1,
            "order": RowOrder,
            "masked": COLUMNS,
            "fp16": 1,
            "stochastic": 1,
            "control": PackControl,
        }
    )


class Place(data.Struct):
    """Position in L1 at which a packer continues: words of 4 bytes, and bytes of exponents; one bit wider than addresses."""

    word: ADDRESS_BITS + LINE_WORDS_LOG2 + 1
    exponent: ADDRESS_BITS + LINE_BYTES_LOG2 + 1


# Random numbers of the packers' stochastic rounding. Their source is not public; this one is chosen, like golden's.


class ColumnNumbers(wiring.Component):
    """A random number for each column of each packer, 0 after reset. A seed gives column k that of the Vector unit's lane k.

    A seed takes 96 cycles, in which no packer may step.

    Parameters
    ----------
    packers : 1 or more.

    Members
    -------
    seed : In(stream of 32), ready unless a seed is under way
    busy : Out(1), a seed is under way
    packer : In, whose numbers are shown
    advance : In(1), they step
    o : Out(16 x 23)
    """

    def __init__(self, packers: int):
        self.packers = packers
        super().__init__(
            {
                "seed": In(stream.Signature(LANE_BITS)),
                "busy": Out(1),
                "packer": In(range(packers)),
                "advance": In(1),
                "o": Out(data.ArrayLayout(RANDOM_BITS, COLUMNS)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.prng_seed = prng_seed = PrngSeed()
        connect(m, flipped(self.seed), prng_seed.i)
        m.d.comb += self.busy.eq(prng_seed.busy)
        shown = Signal(data.ArrayLayout(data.ArrayLayout(RANDOM_BITS, COLUMNS), self.packers))
        for packer in range(self.packers):
            # States come in the order of lanes 31 to 0; the last 16 stay.
            loaded = prng_seed.state
            for column in range(COLUMNS):
                prng = instantiate(m, platform, f"prng_{packer}_{column}", PrngLane)
                m.d.comb += [
                    prng.load.eq(prng_seed.load),
                    prng.loaded.eq(loaded),
                    prng.advance.eq(self.advance & (self.packer == packer)),
                    shown[packer][column].eq(prng.state[:RANDOM_BITS]),
                ]
                loaded = prng.state
        m.d.comb += self.o.eq(shown[self.packer])
        return m


class RowPacker(wiring.Component):
    """A row a cycle, the rows of one source after the other. PACRs follow each other without a gap but for the cycle in which
    one is taken; block floats take a cycle more for each write of exponents. One that accumulates in L1 begins when all earlier rows are written.
    PACRs wait for a seed, which waits for all earlier rows.

    Wormhole's four packers take turns here, so that a tile takes 64 cycles, where the machine packs 64 bytes a cycle.

    Parameters
    ----------
    config : configuration of the core.

    Members
    -------
    i : In(stream of pack_rows_layout)
    seed : In(stream of 32), of the random numbers; it waits until no row is on its way, and goes before the next PACR
    read_dst : Out(stream of DstAddress), dst : In(stream of DstRow), a cycle later
    old_address : Out, old : In(512), the word of L1, a cycle later
    write_address : Out, write_data : Out(512), write_bytes : Out(64)
    idle : Out(1), no row is on its way
    misplaced : Out(1), `i` is ready and its PACR must not be valid: its rows or exponents would pass L1's end; a packer goes on
        behind narrower rows, at no multiple of 16 bytes or of a row; exponents would be in the same 16 bytes as datums
    """

    def __init__(self, config: TensixCoreConfig):
        self.config = config
        address = line_address_bits(config.l1_words)
        super().__init__(
            {
                "i": In(stream.Signature(pack_rows_layout(config))),
                "seed": In(stream.Signature(LANE_BITS)),
                "read_dst": Out(stream.Signature(DstAddress)),
                "dst": In(stream.Signature(DstRow)),
                "old_address": Out(address),
                "old": In(ROW_BITS),
                "write_address": Out(address),
                "write_data": Out(ROW_BITS),
                "write_bytes": Out(ROW_BITS // 8),
                "idle": Out(1),
                "misplaced": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self.config
        m.submodules.packer = packer = Packer(config.pack_conversion)
        m.submodules.numbers = numbers = ColumnNumbers(PACKERS[config.chip])
        request = Signal(self.i.p.shape(), reset_less=True)
        waiting = Signal(SOURCES)  # sources of the PACR that still have rows
        done = Signal(ROW_COUNT_BITS)
        source, row = Signal(range(SOURCES)), Signal(DST_ROW_BITS)
        # The cycle behind a row is for its exponents.
        owes = Signal()
        row_layout = data.StructLayout(
            {
                "place": Place,
                "masked": COLUMNS,
                "last": 1,
                "zero": 1,
                "stochastic": 1,
                "source": range(SOURCES),
                "control": PackControl,
                "flush": 1,
                "writes_exponents": 1,
                "valid": 1,
            }
        )
        present = Signal(row_layout)
        ages = [Signal(row_layout, name=f"row_{age}") for age in range(1, Packer.LATENCY + 2)]
        empty = ~Cat(each.valid for each in ages).any() & ~owes
        goes_on = Signal(PACKERS[config.chip])
        places = Signal(data.ArrayLayout(Place, len(goes_on)))
        reads = self.read_dst.valid & self.read_dst.ready
        steps = reads | (waiting.any() & request.flush)
        here = self._place(m, request, source, goes_on, places, reads)
        for number in reversed(range(SOURCES)):
            with m.If(waiting[number]):
                m.d.comb += source.eq(number)
        last_row = done + 1 == request.rows
        left = waiting & ~(1 << source)
        ends = steps & last_row & (left == 0)
        # Wormhole's packers have exponents of their own, Blackhole's interfaces share them.
        own_end = last_row if len(goes_on) > 1 else last_row & (left == 0)
        line_end = here.exponent[:LINE_BYTES_LOG2].all()
        m.d.comb += [
            self.i.ready.eq(
                (waiting == 0) & ~owes & (empty | ~self.i.p.control.accumulate) & ~(self.seed.valid | numbers.busy)
            ),
            self.misplaced.eq(self.i.ready & self._misplaced(m, goes_on, places)),
            self.read_dst.valid.eq(waiting.any() & ~owes & ~request.flush),
            row.eq(request.first[source] + done),
            self.read_dst.p.row.eq(ordered(row, request.order, request.control.dst32)),
            self.read_dst.p.dst32.eq(request.control.dst32),
            self.read_dst.p.fp16.eq(request.fp16),
            self.dst.ready.eq(1),
            present.place.eq(here),
            *(present[name].eq(request[name]) for name in ("masked", "last", "flush", "zero", "stochastic", "control")),
            present.source.eq(source),
            present.writes_exponents.eq(owes | (request.flush & last_row)),
            present.valid.eq(steps | owes),
            self.old_address.eq(here.word[LINE_WORDS_LOG2:]),
            self.idle.eq((waiting == 0) & empty),
        ]
        m.d.sync += owes.eq(reads & has_exponents(request.control.out_format) & (own_end | line_end))
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += [request.eq(self.i.p), waiting.eq(self.i.p.sources), done.eq(0)]
        with m.If(steps):
            m.d.sync += done.eq(Mux(last_row, 0, done + 1))
            with m.If(last_row):
                m.d.sync += waiting.eq(left)
        m.d.sync += [older.eq(younger) for younger, older in zip([present, *ages], ages, strict=False)]
        with m.If(ends & (request.last | request.flush)):
            # The next PACR begins at its addresses.
            m.d.sync += goes_on.eq(goes_on & ~(request.sources if len(goes_on) > 1 else 1))

        read = ages[0]
        m.d.comb += [
            packer.i.valid.eq(read.valid),
            packer.i.p.row.eq(Mux(read.zero, 0, _words(read.control, self.dst.p))),
            packer.i.p.old.eq(self.old),
            packer.i.p.masked.eq(read.masked),
            packer.i.p.control.eq(read.control),
            packer.i.p.stochastic.eq(read.stochastic),
            packer.i.p.random.eq(numbers.o),
            packer.o.ready.eq(1),
            numbers.seed.p.eq(self.seed.p),
            numbers.seed.valid.eq(self.seed.valid & self.idle),
            self.seed.ready.eq(numbers.seed.ready & self.idle),
            numbers.packer.eq(read.source if len(goes_on) > 1 else 0),
            numbers.advance.eq(read.valid & read.stochastic & ~read.flush & ~read.writes_exponents),
        ]
        self._write(m, packer, ages[-1])
        return m

    def _write(self, m: Module, packer: Packer, packed: data.View) -> None:
        """Write a row, or the exponents of rows before it."""
        gathered = Signal(LINE_BITS)
        present = Signal(LINE_BYTES)  # bytes of gathered exponents
        line = Signal.like(self.write_address, reset_less=True)
        word, datums = packed.place.word[:LINE_WORDS_LOG2], packer.o.p.datums
        enables = Signal(ROW_BITS // 8)
        log = rows_per_word_log2(packed.control.out_format)
        for log2 in range(MAX_ROWS_PER_WORD_LOG2 + 1):
            with m.If(log == log2):
                m.d.comb += enables.eq(((1 << (ROW_BITS // 8 >> log2)) - 1) << (word << WORD_BYTES_LOG2))
        # A row that does not begin 16 bytes has no more than these.
        moved = (datums[:LINE_BITS] << (word << WORD_BYTES_LOG2 + 3))[:LINE_BITS]
        m.d.comb += [
            self.write_address.eq(packed.place.word[LINE_WORDS_LOG2:]),
            self.write_data.eq(Cat(moved, datums[LINE_BITS:])),
            # Rows below 16 bytes are followed by zeros up to there, which later rows replace.
            self.write_bytes.eq(Mux(packed.valid, enables | Mux(packed.last, (enables | -enables)[:LINE_BYTES], 0), 0)),
        ]
        blocks = has_exponents(packed.control.out_format)
        with m.If(packed.valid & packed.flush):
            # Nothing is to be done behind whole 16 bytes.
            byte = Mux(packed.writes_exponents, packed.place.exponent, packed.place.word << WORD_BYTES_LOG2)
            rest = Const((1 << LINE_BYTES) - 1) << byte[:LINE_BYTES_LOG2]
            inside = byte[:LINE_BYTES_LOG2].any() & (blocks | ~packed.writes_exponents)
            m.d.comb += [
                self.write_address.eq(byte[LINE_BYTES_LOG2:]),
                self.write_data.eq(0),
                self.write_bytes.eq(Mux(inside, rest[:LINE_BYTES], 0)),
            ]
        with m.Elif(packed.valid & packed.writes_exponents):
            m.d.comb += [
                self.write_address.eq(line),
                self.write_data.eq(gathered),
                self.write_bytes.eq(present | Mux(packed.last, (present | -present)[:LINE_BYTES], 0)),
            ]
            m.d.sync += [gathered.eq(0), present.eq(0)]
        with m.Elif(packed.valid & blocks):
            byte = packed.place.exponent[:LINE_BYTES_LOG2]
            m.d.sync += [
                gathered.word_select(byte, EXPONENT_BITS).eq(packer.o.p.exponent),
                present.bit_select(byte, 1).eq(1),
                line.eq(packed.place.exponent[LINE_BYTES_LOG2:]),
            ]

    def _misplaced(self, m: Module, goes_on: Signal, places: data.View) -> Value:
        """Return whether L1 has no room for the offered PACR where it would be written."""
        offered, several = self.i.p, len(goes_on) > 1
        rows = offered.rows if several else sum((offered.sources[k] for k in range(SOURCES)), Value.cast(0))
        words, blocks = _row_words(offered.control), has_exponents(offered.control.out_format)
        rows = Mux(offered.flush, 0, rows)
        lines = 1 << line_address_bits(self.config.l1_words)
        wrong = []
        for k, goes in enumerate(goes_on):
            place, end = Signal(Place, name=f"place_{k}"), Signal(Place, name=f"end_{k}")
            m.d.comb += [
                place.eq(Mux(goes, places[k].as_value(), _begin(offered, k))),
                end.word.eq(place.word + rows * words),
                end.exponent.eq(place.exponent + rows),
            ]
            first, last = (each[LINE_WORDS_LOG2:] for each in (place.word, end.word - 1))
            first_exponents, last_exponents = (each[LINE_BYTES_LOG2:] for each in (place.exponent, end.exponent - 1))
            together = (first_exponents <= last) & (first <= last_exponents)
            inside = (place.word & (words - 1))[:LINE_WORDS_LOG2].any()
            passes = (end.word > lines << LINE_WORDS_LOG2) | (blocks & (end.exponent > lines << LINE_BYTES_LOG2))
            wrong.append(passes | ~offered.flush & (inside | (blocks & together)))
        return (Cat(wrong) & (offered.sources if several else 1)).any()

    def _place(
        self, m: Module, request: data.View, source: Value, goes_on: Signal, places: data.View, moves: Value
    ) -> data.View:
        """Add where each packer goes on; return the place of the present row."""
        packer = source if len(goes_on) > 1 else 0
        here = Signal(Place)
        goes, blocks = goes_on.bit_select(packer, 1), has_exponents(request.control.out_format)
        m.d.comb += here.eq(Mux(goes, places[packer].as_value(), _begin(request, packer)))
        with m.If(moves):
            m.d.sync += [
                goes.eq(1),
                places[packer].word.eq(here.word + _row_words(request.control)),
                places[packer].exponent.eq(here.exponent + blocks),
            ]
        return here


def _begin(request: data.View, packer: Value | int) -> Value:
    """Return the configured `Place` of a packer."""
    addresses = ((request.begins[packer], LINE_WORDS_LOG2), (request.exponents[packer], LINE_BYTES_LOG2))
    return Cat(Cat(Const(0, low), address, Const(0, 1)) for address, low in addresses)


def _row_words(control: data.View) -> Value:
    """Return the words of 4 bytes that a packed row has: 16, 8, 4, 2 or 1."""
    return Value.cast(ROW_WORDS) >> rows_per_word_log2(control.out_format)


def _words(control: data.View, row: data.View) -> Value:
    """Return the words of a Dst row; INT16 takes 16-bit words in the register's order."""
    stored = Cat(Cat(to_physical(DST16_BF16, word[:HALF]), word[HALF:]) for word in row)
    return Mux((control.mid_format == Format.INT16) & ~control.dst32, stored, row.as_value())
