"""Every kind of instruction for the bench of the Matrix unit, and random sequences for its configuration."""

from collections import deque
from dataclasses import replace
from functools import partial
from itertools import product
from random import Random

import numpy as np
from cocotb.triggers import FallingEdge, RisingEdge

from bitpath.golden.tensix.declarations.formats import (
    BLOCK_ROWS,
    DST16_ROWS,
    PHASES,
    SRC_ROWS,
    STYLE_FORMATS,
    Format,
    Style,
)
from bitpath.golden.tensix.declarations.numerics import TensixNumerics
from bitpath.golden.tensix.matmul import cycles as golden_cycles
from bitpath.rtl.tensix.dot.layouts import DstRow
from bitpath.rtl.tensix.matrix.instruction import MatrixUnitConfig, Opcode, Zeroed
from bitpath.rtl.tensix.matrix.matrix_unit import MatrixUnit
from bitpath.rtl.tensix.pool.layouts import POOL_ROWS
from bitpath.verif.kit.unit_bench import Bench, Coverage, UnitBench, cases, cross, pack, pauses, resolved
from bitpath.verif.tensix.dot.numbers import NOT_FP16, dst_row, source_rows
from bitpath.verif.tensix.matrix.model import (
    ADDING,
    ALL_MOVES,
    BROADCASTS,
    ELEMENT_WISE,
    PAIRS,
    Machine,
    Operation,
    Place,
    pair_places,
)

# Driver of all ports of the Matrix unit, which dates each read of Dst by the cycle of its handshake.


INPUTS = ("instruction", "write_a", "write_b", "write_dst", "read_dst")
STUCK = 500
"""Cycles without a transfer after which a run is stuck."""


class Player:
    """Queues for the ports of the Matrix unit; golden executes each entry when it is queued.

    Instructions and outside writes may target the same row of Dst only in a certain order: while `write` is busy, rows that
    queued instructions write must not be written until `idle` has returned.

    Parameters
    ----------
    gap, stall : probability of a pause of the inputs and of the reader of Dst.
    """

    def __init__(self, frame: Bench, numerics: TensixNumerics, *, gap: float = 0.0, stall: float = 0.0):
        self.dut, self.machine = frame.dut, Machine(numerics)
        self.cycle = 0
        self.taken: dict[str, list[int]] = {name: [] for name in INPUTS}
        self.junk = pauses.rng("unread fields")
        self.board = frame.check_stream("dst", stalls=pauses.scattered(stall, pauses.rng("stalls")))
        self.drivers = {
            name: frame.driver(name, pauses.scattered(gap, pauses.rng(f"gaps of {name}"))) for name in INPUTS
        }
        self._ends = [
            (name, getattr(frame.dut, f"{name}__valid"), getattr(frame.dut, f"{name}__ready")) for name in INPUTS
        ]
        self._reads: deque[Place] = deque()
        frame.start("watch", self._watch())

    def issue(self, operation: Operation) -> None:
        self.machine.execute(operation)
        self.send_instruction(operation)

    def send_instruction(self, operation: Operation) -> None:
        """Queue an instruction that golden has already executed."""
        self.drivers["instruction"].send(operation.fields(self.junk))

    def fill(self, side: str, rows: dict[int, np.ndarray]) -> None:
        """Queue a bank of SrcA ("a") or SrcB ("b")."""
        self.machine.fill(side, rows)
        self.send_fill(side, rows)

    def send_fill(self, side: str, rows: dict[int, np.ndarray]) -> None:
        """Queue a bank that golden already has."""
        for count, (row, values) in enumerate(rows.items(), 1):
            fields = {"values": [values.tolist()], "row": row, "last": count == len(rows)}
            self.drivers[f"write_{side}"].send(fields)

    def write(self, place: Place, values: np.ndarray) -> None:
        self.machine.write(place, values)
        self.send_write(place, values)

    def send_write(self, place: Place, values: np.ndarray) -> None:
        """Queue a row that golden already has."""
        self.drivers["write_dst"].send({"values": values.tolist(), "address": place.fields()})

    def read(self, place: Place) -> None:
        self._reads.append(place)
        self.drivers["read_dst"].send(place.fields())

    async def idle(self) -> None:
        """Wait until every entry has been transferred and every read has its response."""
        moved, still = -1, 0
        while any(driver.pending for driver in self.drivers.values()) or self.board.pending:
            before, moved = moved, self.board.compared + sum(map(len, self.taken.values()))
            still = still + 1 if moved == before else 0
            assert still < STUCK, f"nothing moves: {self._state()}"
            await RisingEdge(self.dut.clk)

    async def cycles(self, count: int) -> None:
        for _ in range(count):
            await RisingEdge(self.dut.clk)

    def _state(self) -> str:
        waiting = {name: driver.pending for name, driver in self.drivers.items()}
        return f"waiting {waiting}, {self.board.pending} rows to come"

    async def _watch(self) -> None:
        while True:
            await FallingEdge(self.dut.clk)
            self.cycle += 1
            went = [name for name, valid, ready in self._ends if resolved(valid) and resolved(ready)]
            if "read_dst" in went:
                # The read sees transfers of earlier cycles only.
                place = self._reads.popleft()
                done = len(self.taken["instruction"]), len(self.taken["write_dst"])
                words = self.machine.seen(place, *done)
                self.board.expect(pack(DstRow, words.tolist()), partial(self.machine.shown, place, *done))
            for name in went:
                self.taken[name].append(self.cycle)


# Short runs of instructions on the same and on other blocks of Dst, with their issue cycles on a unit of full size.
#
# Ref: tt-isa-documentation 3930471, MatrixUnit (latency) and Dst (a block is not readable for four cycles).


def mvmul(block: int, *, dst32: bool = True, **fields) -> Operation:
    """An MVMUL of BF16 sources on a block of Dst."""
    return Operation(opcode=Opcode.MVMUL, dst32=dst32, dst_row=block * BLOCK_ROWS, **fields)


def half(block: int) -> Operation:
    """An MVMUL on a 16-bit block: blocks 2n and 2n + 1 are the halves of pair n."""
    return mvmul(block, dst32=False)


def gmpool(block: int) -> Operation:
    """A GMPOOL of BF16 sources on the upper half of a block of 32-bit words."""
    return Operation(opcode=Opcode.GMPOOL, dst32=True, dst_row=block * BLOCK_ROWS + POOL_ROWS)


ZERO_2_3 = Operation(opcode=Opcode.ZEROACC, dst32=True, dst_row=2 * BLOCK_ROWS)
"""ZEROACC of pairs 2 and 3."""
ZERO_HALVES_2 = Operation(opcode=Opcode.ZEROACC, dst_row=4 * BLOCK_ROWS)
"""ZEROACC of 16 rows of 16 bits: pair 2."""
ZERO_ALL = Operation(opcode=Opcode.ZEROACC, zeroed=Zeroed.ALL)
ZERO_UPPER = Operation(opcode=Opcode.ZEROACC, zeroed=Zeroed.HALF, dst_row=DST16_ROWS - 1)
"""ZEROACC of pairs 32 to 63."""


def zero_row(block: int) -> Operation:
    """A ZEROACC of a row of a 16-bit block."""
    return Operation(opcode=Opcode.ZEROACC, zeroed=Zeroed.ROW, dst_row=block * BLOCK_ROWS + 3)


HAZARDS = {
    "one block": ([mvmul(0)] * 4, [0, 5, 10, 15]),
    "two blocks": ([mvmul(0), mvmul(1)] * 3, [0, 1, 5, 6, 10, 11]),
    "four blocks": ([mvmul(block) for block in range(4)] * 3, [0, 1, 2, 3, 5, 6, 7, 8, 10, 11, 12, 13]),
    "five blocks": ([mvmul(block) for block in range(5)] * 3, list(range(15))),
    "halves of a pair": ([half(0), half(1)] * 3, [0, 1, 5, 6, 10, 11]),
    "a half, then its pair": ([half(1), mvmul(0), mvmul(1), half(0)], [0, 5, 6, 10]),
    "a pair, then its halves": ([mvmul(3), half(7), half(8), half(6)], [0, 5, 6, 7]),
    "both halves, then the pair": ([half(6), half(7), mvmul(3)], [0, 1, 6]),
    "ZEROACC": ([mvmul(3), ZERO_2_3, mvmul(2), mvmul(4), ZERO_2_3, mvmul(3)], [0, 5, 6, 7, 11, 12]),
    "ZEROACC beside": ([mvmul(1), ZERO_2_3, mvmul(4), ZERO_2_3], [0, 1, 2, 3]),
    "ZEROACC of a pair": ([half(3), mvmul(3), ZERO_HALVES_2, half(5), ZERO_HALVES_2], [0, 1, 2, 3, 8]),
    "GMPOOL": ([gmpool(0), mvmul(0), gmpool(1), gmpool(2), gmpool(0), gmpool(0)], [0, 5, 6, 7, 10, 15]),
    "ZEROACC of all": ([mvmul(60), ZERO_ALL, mvmul(60)], [0, 5, 6]),
    "ZEROACC of half": ([mvmul(32), mvmul(31), ZERO_UPPER, ZERO_UPPER, mvmul(32)], [0, 1, 5, 6, 7]),
    "ZEROACC of a row": ([half(7), zero_row(7), half(8), mvmul(9), zero_row(6), zero_row(8)], [0, 5, 6, 7, 8, 12]),
    "ZEROACC of a row while another one lands": ([mvmul(0)] + [zero_row(9)] * 5, [0, 1, 2, 3, 5, 6]),
    "ZEROACC of upper halves": ([half(4), half(5), half(9), ZERO_2_3], [0, 1, 2, 5]),
}
"""Instructions, and the issue cycle of each relative to the first."""


async def timed(player: Player, operations: list[Operation]) -> list[int]:
    """Issue instructions without a gap; return their issue cycles relative to the first."""
    first = len(player.taken["instruction"])
    for operation in operations:
        player.issue(operation)
    await player.idle()
    taken = player.taken["instruction"][first:]
    return [cycle - taken[0] for cycle in taken]


BENCH = UnitBench(MatrixUnit, MatrixUnitConfig)
CONFIG = BENCH.config
NUMERICS = CONFIG.numerics
CASES = cases(200)
LATENCY = golden_cycles.MVMUL_LATENCY
"""Cycles from a pass to the first cycle in which its block may be read."""
PACES = {"full_speed": (0.0, 0.0), "gaps": (0.6, 0.0), "stalls": (0.0, 0.6), "both": (0.5, 0.5)}
WIDTHS = [(style, dst32) for style in Style for dst32 in (False, True) if dst32 or style is not Style.INT8]
PHASED = (Opcode.MVMUL, Opcode.DOTPV, Opcode.GAPOOL, Opcode.ELWMUL)
INSTRUCTION_PAIRS = (0, 1, 2, 3, PAIRS - 2, PAIRS - 1)
"""Pairs that random instructions use: few, so that they conflict; ZEROACC takes two pairs at a time."""
WRITE_PAIRS = (4, 5, PAIRS // 2)
"""Pairs that rows are written to from outside meanwhile."""
SRC_B_FLAGS = (
    ("broadcast_row",),
    ("broadcast_column",),
    ("broadcast_row", "broadcast_column"),
    ("keep_src_b_denormals",),
    ("broadcast_row", "keep_src_b_denormals"),
)
"""Flags with which element-wise operations take SrcB."""
WIDE_FORMATS = (Format.TF32, *STYLE_FORMATS[Style.FP16])
"""Formats whose datums use all ten fraction bits."""


def any_row(rng: Random, opcode: Opcode) -> dict[str, int]:
    """Return a legal first source row of an instruction."""
    step = BLOCK_ROWS if opcode in ELEMENT_WISE else NUMERICS.src_a_row_step
    if opcode is Opcode.GMPOOL:
        step = 2 * BLOCK_ROWS
    last = SRC_ROWS - (BLOCK_ROWS if opcode in ELEMENT_WISE else 2 * BLOCK_ROWS)
    return {"src_a_row": rng.randrange(0, last + 1, step), "src_b_row": rng.randrange(0, SRC_ROWS, BLOCK_ROWS)}


def any_formats(rng: Random, opcode: Opcode, style: Style) -> tuple[Format, Format] | None:
    """Return formats of a style, narrow and wide ones equally often; GMPOOL reads both sources in the style alone."""
    if opcode is Opcode.GMPOOL:
        return None
    by_width = [[fmt for fmt in STYLE_FORMATS[style] if (fmt in WIDE_FORMATS) == wide] for wide in (False, True)]
    choices = [formats for formats in by_width if formats]
    return rng.choice(rng.choice(choices)), rng.choice(rng.choice(choices))


def block_start(rng: Random, pair: int, *, dst32: bool) -> int:
    """Return a row at which one of the blocks of the pair starts; the upper half's 32-bit rows have three numbers."""
    if not dst32:
        return (2 * pair + rng.getrandbits(1)) * BLOCK_ROWS
    row = pair * BLOCK_ROWS
    return rng.choice((row, row + 256, row + 512)) if row & 256 else row


def combinations(style: Style) -> list[dict]:
    """Yield every kind of instruction of a style, without its rows; ``offset`` counts from the first row of the block."""
    kinds = []
    for (opcode, phase), dst32 in product(product(PHASED, range(PHASES)), (False, True)):
        offsets = (0, BLOCK_ROWS // 2) if opcode is Opcode.GAPOOL else (0,)
        kinds += [{"opcode": opcode, "phase": phase, "dst32": dst32, "offset": offset} for offset in offsets]
    for phase, dst32, offset in product(range(PHASES), (False, True), (0, 1)):
        kinds.append({"opcode": Opcode.MVMUL, "phase": phase, "dst32": dst32, "offset": offset, "broadcast_row": True})
    for opcode, accumulate, dst32 in product(ADDING, (False, True), (False, True)):
        kinds.append({"opcode": opcode, "accumulate": accumulate, "dst32": dst32, "offset": 0})
    for opcode, names, dst32 in product(ELEMENT_WISE, SRC_B_FLAGS, (False, True)):
        kinds.append({"opcode": opcode, "dst32": dst32, "offset": 0, **dict.fromkeys(names, True)})
    for dst32, offset in product((False, True), (0, BLOCK_ROWS // 2)):
        pool = {"opcode": Opcode.GMPOOL, "dst32": dst32, "offset": offset}
        kinds += [pool, pool | {"argmax": True}] if dst32 else [pool]
    return [kind for kind in kinds if (style, kind["dst32"]) in WIDTHS]


def kind_bin(style: Style, kind: dict) -> str:
    parts = [kind["opcode"].name, style.value, 32 if kind["dst32"] else 16, kind.get("phase", 0)]
    flags = [name for name in (*BROADCASTS, "accumulate", "argmax") if kind.get(name)]
    return "/".join(map(str, [*parts, *flags, *([kind["offset"]] if kind["offset"] else [])]))


def random_operation(rng: Random, pairs: tuple[int, ...], *, releases: bool = True) -> Operation:
    """Return a random instruction on one of these pairs, which sometimes releases a source."""
    opcode = rng.choice([*Opcode, *[Opcode.MVMUL] * 3])
    style, dst32 = rng.choice(WIDTHS)
    pair = rng.choice(pairs)
    if opcode is Opcode.ZEROACC:
        zeroed = rng.choice((Zeroed.ROW, Zeroed.SIXTEEN))
        dst32 &= zeroed is Zeroed.SIXTEEN
        row = block_start(rng, pair, dst32=dst32) + rng.randrange(BLOCK_ROWS)
        return Operation(opcode=opcode, zeroed=zeroed, dst32=dst32, dst_row=row)
    kind = rng.choice([each for each in combinations(style) if each["opcode"] is opcode and each["dst32"] == dst32])
    released = [releases and rng.random() < 0.15 for _ in "ab"]
    return place_kind(rng, style, kind, pair, release_a=released[0], release_b=released[1])


def with_moves(rng: Random, player: Player, operation: Operation) -> Operation:
    """Return the instruction with a move of each source's banks that golden's model allows."""
    moves = {}
    for side, banks in player.machine.sources.items():
        release, flip = rng.choice([move for move in ALL_MOVES if banks.allows(*move)])
        moves |= {f"release_{side}": release, f"flip_{side}": flip}
    return replace(operation, **moves)


def place_kind(rng: Random, style: Style, kind: dict, pair: int, **flags: bool) -> Operation:
    """Return an instruction of a kind, on a block of a pair and on random source rows."""
    fields = dict(kind)
    rows = any_row(rng, kind["opcode"])
    if kind.get("broadcast_row"):
        rows["src_b_row"] = rng.randrange(SRC_ROWS)
    dst = block_start(rng, pair, dst32=kind["dst32"]) + fields.pop("offset")
    formats = any_formats(rng, kind["opcode"], style)
    return Operation(style=style, formats=formats, dst_row=dst, **rows, **fields, **flags)


def fill_both(player: Player, rng: Random, style: Style) -> None:
    for side in "ab":
        player.fill(side, dict(enumerate(source_rows(rng, style))))


def fill_dst(player: Player, rng: Random, pairs: tuple[int, ...]) -> None:
    """Queue words for every row of these pairs, since a reset leaves the words of the test before."""
    for place in (each for pair in pairs for each in pair_places(pair)[:BLOCK_ROWS]):
        player.write(place, dst_row(rng, Style.BF16, dst32=True))


def write_block(player: Player, rng: Random, operation: Operation) -> None:
    """Queue words of the instruction's style into its block."""
    for place in operation.place.block:
        player.write(place, dst_row(rng, operation.style, dst32=operation.dst32))


def read_pairs(player: Player, rng: Random, pairs: tuple[int, ...]) -> None:
    """Queue reads of every row of these pairs, in both widths and bit orders, in random order."""
    places = [place for pair in pairs for place in pair_places(pair)]
    rng.shuffle(places)
    for place in places:
        player.read(place)


def cover_masking(coverage: Coverage, operation: Operation, player: Player) -> None:
    """Cover the masking of sources, and exponent bits that FP16 must ignore."""
    if operation.formats is not None and operation.style is not Style.INT8:
        wide = ["wide" if fmt in WIDE_FORMATS else "narrow" for fmt in operation.formats]
        coverage.hit("masking", operation.style.value, *wide)
    if operation.style is Style.FP16:
        bank = player.machine.source_bank("a")
        if np.any(bank[operation.src_a_row : operation.src_a_row + BLOCK_ROWS] & NOT_FP16):
            coverage.hit("FP16 with exponent bits above its own")


_MASKING = {
    style: cross(("masking",), (style.value,), ("narrow", "wide"), ("narrow", "wide"))
    for style in (Style.BF16, Style.TF32)
}
MASKING_BINS = _MASKING | {
    Style.FP16: ["masking/FP16/wide/wide", "FP16 with exponent bits above its own"],
    Style.INT8: [],
}
"""Bins of masking, by style."""
