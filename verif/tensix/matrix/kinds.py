"""Every kind of instruction for the bench of the Matrix unit, and random sequences for its configuration."""

import os
from dataclasses import replace
from itertools import product
from random import Random

import numpy as np

from bitpath.golden.tensix.declarations.formats import BLOCK_ROWS, PHASES, SRC_ROWS, STYLE_FORMATS, Format, Style
from bitpath.golden.tensix.matmul import cycles as golden_cycles
from bitpath.rtl.tensix.matrix.instruction import MatrixUnitConfig, Opcode, Zeroed
from bitpath.rtl.tensix.matrix.matrix_unit import MatrixUnit
from bitpath.verif.kit.bench import config_from_environment
from bitpath.verif.kit.coverage import Coverage, cross
from bitpath.verif.tensix.dot.sources import NOT_FP16, dst_row, source_rows
from bitpath.verif.tensix.matrix.banks import ALL_MOVES
from bitpath.verif.tensix.matrix.model import ADDING, BROADCASTS, ELEMENT_WISE, PAIRS, Operation, pair_places
from bitpath.verif.tensix.matrix.player import Player

CONFIG = config_from_environment(MatrixUnitConfig)
NUMERICS = CONFIG.numerics
SIGNATURE = MatrixUnit(CONFIG).signature
CASES = int(os.environ.get("BITPATH_CASES", "200"))
LIMIT = {"timeout_time": 10, "timeout_unit": "ms"}
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
    """Return a row at which one of the blocks of the pair starts."""
    return pair * BLOCK_ROWS if dst32 else (2 * pair + rng.getrandbits(1)) * BLOCK_ROWS


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
