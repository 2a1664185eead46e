"""Bench of the Matrix unit: every kind of instruction, random traffic on all ports, hazards cycle by cycle.

Golden executes an entry when it is queued, before it is driven; the cycle of a read's handshake determines the operations
that it sees. ``BITPATH_CASES`` is the number of instructions of a random stream.
"""

from copy import deepcopy
from dataclasses import replace
from itertools import product
from random import Random

import cocotb
import numpy as np

from bitpath.golden import tensix
from bitpath.golden.formats.catalogue import TF32
from bitpath.golden.tensix.declarations.formats import BLOCK_ROWS, COLUMNS, DST16_ROWS, DST32_ROWS, SRC_ROWS, Style
from bitpath.golden.tensix.matmul import cycles as golden_cycles
from bitpath.golden.tensix.matmul.matmul import TILE_ROWS
from bitpath.rtl.tensix.matrix.instruction import Opcode, Zeroed
from bitpath.verif.kit.unit_bench import Bench, Coverage, covers, cross, pauses
from bitpath.verif.tensix.dot.numbers import dst_row, source_rows
from bitpath.verif.tensix.matrix.kinds import (
    BENCH,
    CASES,
    CONFIG,
    HAZARDS,
    INSTRUCTION_PAIRS,
    LATENCY,
    MASKING_BINS,
    NUMERICS,
    PACES,
    WRITE_PAIRS,
    Player,
    combinations,
    cover_masking,
    fill_both,
    fill_dst,
    kind_bin,
    mvmul,
    place_kind,
    random_operation,
    read_pairs,
    timed,
    with_moves,
    write_block,
)
from bitpath.verif.tensix.matrix.model import PAIRS, POOLING, ZEROED_ROWS, Operation, Place, issue_cycles, pair_places

# Parts of the bench: rows written around an instruction, chains of GMPOOLs, every exponent, and banks that are released.


CHAIN = 4
"""GMPOOLs onto one Dst row."""


async def written_around(
    player: Player, operation: Operation, place: Place, values: np.ndarray, offset: int, coverage: Coverage
) -> None:
    """Offer a row ``offset - 1`` cycles after an instruction on its block: it takes effect either before or after it."""
    before, behind = deepcopy(player.machine), deepcopy(player.machine)
    before.write(place, values)
    before.execute(operation)
    behind.execute(operation)
    behind.write(place, values)
    await player.cycles(LATENCY + 1)
    if offset == 0:
        player.send_write(place, values)
        await player.cycles(1)
    player.send_instruction(operation)
    if offset > 0:
        await player.cycles(offset - 1)
        player.send_write(place, values)
    await player.idle()
    last, written = player.taken["instruction"][-1], player.taken["write_dst"][-1]
    first = last - CONFIG.passes + 1
    if offset == 0:
        assert written < first
    else:
        assert written == max(last + LATENCY, first + offset - 1), f"last pass in {last}, written in {written}"
    coverage.hit("written before" if written < first else "written behind")
    player.machine = before if written < first else behind
    for each in place.block:
        player.read(each)
    await player.idle()


async def pooled(frame: Bench, rng: Random, style: Style) -> None:
    """Make two blocks undefined, write some rows of one, then pool onto it four times, in every kind of GMPOOL."""
    kinds = [kind for kind in combinations(style) if kind["opcode"] is Opcode.GMPOOL]
    coverage = frame.coverage(cross([kind_bin(style, kind) for kind in kinds], ("undefined", "defined")))
    player = Player(frame, NUMERICS)
    fill_both(player, rng, style)
    fill_dst(player, rng, (1,))
    await player.idle()
    for kind, count in product(kinds, (0, 1, BLOCK_ROWS // 2, BLOCK_ROWS)):
        first = place_kind(rng, style, kind, 1)
        player.issue(Operation(opcode=Opcode.ZEROACC, dst32=first.dst32, dst_row=first.dst_row))
        await player.idle()
        for place in rng.sample(first.place.block, count):
            player.write(place, dst_row(rng, style, dst32=place.dst32))
        await player.idle()
        coverage.hit(kind_bin(style, kind), "undefined" if player.machine.undefined(first.place) else "defined")
        for b_row in rng.sample(range(0, SRC_ROWS, BLOCK_ROWS), CHAIN):
            player.issue(replace(first, src_b_row=b_row))
        read_pairs(player, rng, (1,))
        await player.idle()


async def scaled(frame: Bench, side: str) -> None:
    """Multiply every exponent in one source by 1.0 in the other one, from an undefined Dst."""
    exponents = {each: np.full((SRC_ROWS, COLUMNS), TF32.bias, np.uint32) for each in "ab"}
    exponents[side] = np.arange(SRC_ROWS * COLUMNS, dtype=np.uint32).reshape(SRC_ROWS, COLUMNS) % (
        1 << TF32.exponent_bits
    )
    player = Player(frame, NUMERICS)
    for each, rows in exponents.items():
        player.fill(each, dict(enumerate(rows << TF32.fraction_bits)))
    player.issue(Operation(opcode=Opcode.ZEROACC, zeroed=Zeroed.ALL))
    for row in range(0, SRC_ROWS, BLOCK_ROWS):
        player.issue(Operation(opcode=Opcode.ELWMUL, dst32=True, src_a_row=row, src_b_row=row, dst_row=row))
    await player.idle()
    for row in range(SRC_ROWS):
        player.read(Place(row, True, False))
    await player.idle()


def fill_released(player: Player, rng: Random, operation: Operation) -> None:
    """Fill the banks that an instruction releases."""
    for side in "ab":
        if getattr(operation, f"release_{side}"):
            player.fill(side, dict(enumerate(source_rows(rng, Style.BF16))))


def release_waited_for(player: Player, rng: Random) -> None:
    """Issue an instruction that releases each bank for which a fill of the other one waits."""
    waits = {f"release_{side}": banks.waits for side, banks in player.machine.sources.items()}
    operation = replace(mvmul(0), **waits)
    player.issue(operation)
    fill_released(player, rng, operation)


# A product of two pairs of tiles in the Matrix unit, cycle by cycle and word by word.


async def multiplied(frame: Bench, fmt: str) -> None:
    """Multiply random 32x64 and 64x32 matrices of a format by golden's program; read the whole tile of Dst."""
    rng = np.random.default_rng(pauses.rng(fmt).getrandbits(32))
    shapes = (32, 64), (64, 32)
    if fmt == "int8":
        a, b = (rng.integers(-127, 128, shape, dtype=np.int32) for shape in shapes)
    else:
        a, b = (rng.standard_normal(shape, dtype=np.float32) for shape in shapes)
    dst32 = fmt != "fp16"
    program = tensix.matmul_program(a, b, format=fmt, fidelity="HiFi4", dst32=dst32, numerics=NUMERICS)
    expected = tensix.run_program(program, numerics=NUMERICS)[0, 0]
    player = Player(frame, NUMERICS)
    for k in range(2):
        player.fill("a", dict(enumerate(program.src_a[k, 0])))
        player.fill("b", dict(enumerate(program.src_b[0, k])))
    await player.idle()
    operations = [
        Operation(
            opcode=Opcode.MVMUL,
            style=program.fmt.style,
            dst32=dst32,
            phase=each.phase,
            formats=(program.fmt.register, program.fmt.register),
            src_a_row=each.src_a_row,
            src_b_row=each.src_b_row,
            dst_row=each.dst_row,
            release_a=each is program.instructions[-1],
            release_b=each is program.instructions[-1],
        )
        for _ in range(2)
        for each in program.instructions
    ]
    cycles = await timed(player, operations)
    assert cycles == issue_cycles(operations, passes=CONFIG.passes, latency=LATENCY)
    if CONFIG.passes == 1:
        assert cycles == golden_cycles.issue_cycles(2 * program.instructions)
    places = [Place(row, dst32, program.fmt.style is Style.FP16) for row in range(TILE_ROWS)]
    assert np.array_equal(np.stack([player.machine.now(place) for place in places]), expected)
    for place in places:
        player.read(place)
    await player.idle()


STYLES = [cocotb.Param(value=style, name=style.value) for style in Style]
HELD = 60
"""Instructions with random moves of the banks."""


@covers(
    "matrix_unit.kinds",
    "All but GMPOOL share one dot product and differ in its operands",
    "Every opcode, style, Dst width, phase, row broadcast from even and odd rows, GAPOOL and GMPOOL on either "
    "half, argmax, with and without accumulation",
)
@covers(
    "matrix_unit.src_b",
    "The flags hold for element-wise operations alone; ELWMUL keeps zeros too, ELWADD and ELWSUB do not",
    "Element-wise operations with any SrcB row for all rows, column 0 for all columns, both, and SrcB's denormals "
    "kept, in every style and width",
)
@BENCH.test(
    "matrix_unit.masking",
    "ttsim issue 14 and the documents disagree about the masks; both are configurations",
    "Low fraction bits under narrow and wide formats of either source, and exponent bits that FP16 lacks",
    style=STYLES,
)
async def every_kind(frame, style):
    """Every opcode, width, phase and variant of a style on its own block, which holds words of the style."""
    rng = pauses.rng("kinds")
    kinds = combinations(style)
    rng.shuffle(kinds)
    kinds_hit = frame.coverage([kind_bin(style, kind) for kind in kinds])
    masking = frame.coverage(MASKING_BINS[style])
    player = Player(frame, NUMERICS)
    fill_both(player, rng, style)
    for first in range(0, len(kinds), PAIRS):
        some = kinds[first : first + PAIRS]
        operations = [place_kind(rng, style, kind, pair) for pair, kind in enumerate(some)]
        for operation, kind in zip(operations, some, strict=True):
            kinds_hit.hit(kind_bin(style, kind))
            cover_masking(masking, operation, player)
            write_block(player, rng, operation)
        await player.idle()
        for operation in operations:
            player.issue(operation)
        await player.idle()
        for operation in operations:
            for place in operation.place.block:
                player.read(place)
        await player.idle()


@covers("matrix_unit.src_b")
@covers(
    "matrix_unit.stream",
    "Each read must see exactly the instructions issued before it",
    "Random instructions on few blocks while banks change, rows are written and rows are read, with gaps and "
    "stalls on all ports",
)
@covers(
    "matrix_unit.dst",
    "Both widths share one storage, and each has its own bit order",
    "32-bit words read as 16-bit words and the reverse, in the bit orders of BF16 and FP16",
)
@BENCH.test("matrix_unit.banks", pace=list(PACES))
async def random_stream(frame, pace):
    """Instructions on few blocks, bank changes, and rows written and read from outside, all at the same time."""
    gap, stall = PACES[pace]
    rng = pauses.rng("stream")
    player = Player(frame, NUMERICS, gap=gap, stall=stall)
    styles = [rng.choice(list(Style)) for _ in range(CASES)]
    # Fill both banks completely: later fills are partial.
    fill_both(player, rng, styles[0])
    fill_both(player, rng, styles[-1])
    for pair in INSTRUCTION_PAIRS + WRITE_PAIRS:
        for place in rng.choice((pair_places(pair)[:BLOCK_ROWS], pair_places(pair)[BLOCK_ROWS::2])):
            player.write(place, dst_row(rng, Style.BF16, dst32=place.dst32))
    await player.idle()
    for style in styles:
        operation = random_operation(rng, INSTRUCTION_PAIRS)
        if operation.opcode is not Opcode.ZEROACC and (operation.release_a or operation.release_b):
            operation = with_moves(rng, player, operation)
        player.issue(operation)
        for side, released in (("a", operation.release_a), ("b", operation.release_b)):
            if released:
                some = rng.sample(range(SRC_ROWS), rng.randint(1, SRC_ROWS))
                rows = source_rows(rng, style, len(some))
                player.fill(side, dict(zip(some, rows, strict=True)))
        place = rng.choice(pair_places(rng.choice(WRITE_PAIRS)))
        player.write(place, dst_row(rng, style, dst32=place.dst32))
        for _ in range(CONFIG.passes.bit_length()):
            player.read(rng.choice(pair_places(rng.choice(INSTRUCTION_PAIRS + WRITE_PAIRS))))
    release_waited_for(player, rng)
    await player.idle()
    read_pairs(player, rng, INSTRUCTION_PAIRS + WRITE_PAIRS)
    await player.idle()


@covers("matrix_unit.dst")
@covers("matrix_unit.hazards", "A missing stall gives a wrong result, an extra stall costs throughput")
@covers("matrix_unit.undefined")
@BENCH.test("matrix_unit.pooling")
async def hazards(frame):
    """The issue cycle of each instruction: the same block after five cycles, another block immediately, halves of a
    pair independently, both halves together not."""
    rng = pauses.rng("hazards")
    player = Player(frame, NUMERICS)
    fill_both(player, rng, Style.BF16)
    fill_dst(player, rng, INSTRUCTION_PAIRS)
    await player.idle()
    for name, (operations, steps) in HAZARDS.items():
        expected = issue_cycles(operations, passes=CONFIG.passes, latency=LATENCY)
        if CONFIG.passes == 1:
            assert expected == steps, f"{name}: the bench expects {expected}"
        taken = await timed(player, operations)
        assert taken == expected, f"{name}: taken in cycles {taken}, expected {expected}"
        read_pairs(player, rng, (0, 1, 2, 3))
        await player.idle()
    operations = [random_operation(rng, INSTRUCTION_PAIRS, releases=False) for _ in range(CASES)]
    expected = issue_cycles(operations, passes=CONFIG.passes, latency=LATENCY)
    assert await timed(player, operations) == expected
    read_pairs(player, rng, INSTRUCTION_PAIRS)
    await player.idle()


@BENCH.test("matrix_unit.accesses", "A row written under an instruction would be lost")
async def accesses_around_an_instruction(frame):
    """A row read or written from outside in every cycle around an instruction on its block and on the other half of its
    pair."""
    rng = pauses.rng("accesses")
    coverage = frame.coverage(["written before", "written behind"])
    player = Player(frame, NUMERICS)
    fill_both(player, rng, Style.BF16)
    for place in pair_places(3)[:BLOCK_ROWS]:
        player.write(place, dst_row(rng, Style.BF16, dst32=True))
    await player.idle()
    for dst32, offset in [(dst32, offset) for dst32 in (False, True) for offset in range(CONFIG.passes + LATENCY + 2)]:
        operation = mvmul(3 if dst32 else 6, dst32=dst32, src_a_row=rng.choice((0, 16, 32)))
        place = Place(operation.dst_row + rng.randrange(BLOCK_ROWS), dst32, False)
        # The block itself waits for the result; the other 16-bit block of its pair does not.
        other = Place(place.row + BLOCK_ROWS if not dst32 else 2 * place.row - place.row % BLOCK_ROWS, False, False)
        for seen, waits in ((place, True), (other, dst32)):
            await player.cycles(LATENCY + 1)
            player.issue(operation)
            await player.cycles(offset)
            player.read(seen)
            await player.idle()
            last, read = player.taken["instruction"][-1], player.taken["read_dst"][-1]
            offered = last - CONFIG.passes + 1 + offset
            soonest = last + LATENCY if waits and offset else offered
            assert read == max(offered, soonest), f"offered in {offered}, last pass in {last}, read in {read}"
        values = dst_row(rng, Style.BF16, dst32=dst32)
        await written_around(player, operation, place, values, offset, coverage)


@BENCH.test("matrix_unit.banks", "Two clients hand two banks to each other")
async def hand_over(frame):
    """Banks filled ahead, awaited by the unpacker and by instructions, released one source at a time, each in the exact
    cycle."""
    rng = pauses.rng("banks")
    player = Player(frame, NUMERICS)
    taken = player.taken
    fill_dst(player, rng, (0, 1, 2))

    def bank():
        return dict(enumerate(source_rows(rng, Style.BF16)))

    for late, early in ("ab", "ba"):
        player.fill(early, bank())
        player.fill(early, bank())
        await player.idle()
        awaited, third = bank(), len(taken[f"write_{early}"])
        player.machine.fill(late, awaited)
        operations = [mvmul(0), mvmul(1), mvmul(1, release_a=True, release_b=True)]
        for operation in operations:
            player.issue(operation)
        # The Matrix unit owns two banks: the third fill stalls until one is released.
        player.fill(early, bank())
        await player.cycles(20)
        assert player.drivers["instruction"].pending == len(operations), "an instruction did not wait for its bank"
        assert len(taken[f"write_{early}"]) == third, "a row went into a bank that is not the unpacker's"
        player.send_fill(late, awaited)
        await player.idle()
        first, *_, released = taken["instruction"][-len(operations) :]
        assert first == taken[f"write_{late}"][-1] + CONFIG.passes, "the bank was not readable at once"
        assert taken[f"write_{early}"][third] == released + 1, "the bank was not writable at once"
        # The early side has two full banks, the late side none: use both.
        for dst in range(2):
            player.fill(late, bank())
            player.issue(mvmul(dst, release_a=True, release_b=True))
        read_pairs(player, rng, (0, 1))
        await player.idle()
    # One side changes banks while the other keeps its bank; the last one empties both.
    for side, stays in ("ab", "ba"):
        player.fill(stays, bank())
        for last in (False, False, True):
            player.fill(side, bank())
            kind = rng.choice(combinations(Style.BF16))
            flags = {f"release_{side}": True, f"release_{stays}": last}
            player.issue(place_kind(rng, Style.BF16, kind, rng.choice((0, 1, 2)), **flags))
        read_pairs(player, rng, (0, 1, 2))
        await player.idle()
    read_pairs(player, rng, (0, 1, 2))


@BENCH.test(
    "matrix_unit.held_banks",
    "A flip without a release must leave the bank with the Matrix unit",
    pace=["full_speed", "both"],
)
async def held_banks(frame, pace):
    """Both sources' banks held, flipped to and released in random order, while the unpacker fills each one as soon as
    it is its own."""
    gap, stall = PACES[pace]
    rng = pauses.rng("holds")
    coverage = frame.coverage(cross("ab", (False, True), (False, True)))
    player = Player(frame, NUMERICS, gap=gap, stall=stall)
    for _ in range(2):
        fill_both(player, rng, Style.BF16)
    for index in range(HELD):
        operation = with_moves(rng, player, mvmul(index % 4, src_a_row=rng.choice((0, 16, 32, 48))))
        player.issue(operation)
        fill_released(player, rng, operation)
        for side in "ab":
            coverage.hit(side, getattr(operation, f"release_{side}"), operation.flips(side))
        if index % 4 == 3:
            for place in pair_places(rng.randrange(4))[:BLOCK_ROWS]:
                player.read(place)
    release_waited_for(player, rng)
    await player.idle()
    read_pairs(player, rng, (0, 1, 2, 3))
    await player.idle()


@covers("matrix_unit.dst")
@covers(
    "matrix_unit.undefined",
    "Undefined rows read as 0, also beside a part written later; of a 32-bit row the upper half alone decides",
)
@BENCH.test("matrix_unit.pooling")
async def undefined_rows(frame):
    """ZEROACC of a row, of 16 rows in both widths, of half of Dst and of all, behind results in flight; partial writes
    into undefined blocks."""
    rng = pauses.rng("undefined")
    parts = [
        kind
        for kind in combinations(Style.BF16)
        if kind.get("phase", 0) == 0 and (kind["opcode"] in POOLING or kind.get("broadcast_row"))
    ]
    player = Player(frame, NUMERICS)
    fill_both(player, rng, Style.BF16)
    modes = [*((zeroed, False) for zeroed in Zeroed), (Zeroed.SIXTEEN, True)]
    for (zeroed, dst32), kind in product(modes, [*parts, None]):
        fill_dst(player, rng, (0, 1, 2, 3))
        await player.idle()
        # Its results are in flight when it is cleared.
        player.issue(mvmul(1))
        row = rng.randrange(16) if dst32 else rng.randrange(16, 32)
        player.issue(Operation(opcode=Opcode.ZEROACC, dst32=dst32, dst_row=row, zeroed=zeroed))
        if kind is not None:
            player.issue(place_kind(rng, Style.BF16, kind, 1))
            await player.idle()
        else:
            await player.idle()
            place = rng.choice(pair_places(1))
            player.write(place, dst_row(rng, Style.BF16, dst32=place.dst32))
            await player.idle()
        read_pairs(player, rng, (0, 1, 2))
        await player.idle()
    # Pairs that were never written.
    read_pairs(player, rng, (PAIRS // 2, 3))


@BENCH.test(
    "matrix_unit.exponents",
    "Random words seldom have one given exponent; mutation found that an exponent of 32 could be taken for 0",
    side=["a", "b"],
)
async def every_exponent(frame, side):
    """Powers of two of every exponent in SrcA, and in SrcB, times 1.0."""
    await scaled(frame, side)


@BENCH.test(
    "matrix_unit.pooling",
    "An undefined row is below every datum, beside defined rows too and in every pass of a small unit; all other "
    "instructions read it as 0",
    style=STYLES,
)
async def pooling_chains(frame, style):
    """Four GMPOOLs onto a Dst row of a block with no row, some rows or all rows undefined, on either half, each with
    another SrcB row; three rows become zero."""
    await pooled(frame, pauses.rng("pooling"), style)


@BENCH.test("matrix_unit.undefined", dst32=[False, True], mode=["ROW", "SIXTEEN", "HALF"])
async def every_block(frame, dst32, mode):
    """Write a row of each block of Dst; ZEROACC of every second row, sixteen rows or half, then of the others, must keep the rest."""
    rng = pauses.rng("blocks")
    rows = DST32_ROWS if dst32 else DST16_ROWS
    player = Player(frame, NUMERICS)
    places = [Place(first + rng.randrange(BLOCK_ROWS), dst32, False) for first in range(0, rows, BLOCK_ROWS)]
    for place in places:
        player.write(place, dst_row(rng, Style.BF16, dst32=dst32))
    await player.idle()
    zeroed = Zeroed[mode]
    wide, count = dst32 and zeroed is Zeroed.SIXTEEN, ZEROED_ROWS[zeroed]
    firsts = range(0, DST32_ROWS if wide else DST16_ROWS, count)
    if zeroed is Zeroed.ROW:
        firsts = [place.rows16[0] for place in places]
    firsts = rng.sample(firsts, len(firsts))
    for half in (firsts[::2], firsts[1::2]):
        for first in half:
            row = first + rng.randrange(count)
            player.issue(Operation(opcode=Opcode.ZEROACC, zeroed=zeroed, dst32=wide, dst_row=row))
        await player.idle()
        for place in places:
            player.read(place)
        await player.idle()


@covers("matrix_unit.hazards")
@BENCH.test("matrix_unit.tile", "The vendor's order of faces and phases decides the bits", fmt=["bf16", "int8", "fp16"])
async def tile_product(frame, fmt):
    """A 32x64x32 product by the program that golden executes, in bf16, fp16 and int8."""
    await multiplied(frame, fmt)
