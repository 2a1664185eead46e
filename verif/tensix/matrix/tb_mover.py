"""Bench of the mover: random moves of every kind, format and width on random registers, against golden's moves; pauses; resets."""

from bitpath.golden.tensix.declarations.formats import BLOCK_ROWS, Format
from bitpath.rtl.tensix.matrix.instruction import MoverConfig
from bitpath.rtl.tensix.matrix.mover import BANK_BLOCKS, MoveKind, Mover
from bitpath.verif.kit.unit_bench import UnitBench, cases, cross, pauses
from bitpath.verif.tensix.matrix.moving import FROM_DST, TO_DST, WIDTHS, MoverTable, Registers, random_move

BENCH = UnitBench(Mover, MoverConfig)
CONFIG = BENCH.config
NUMERICS = CONFIG.numerics
CASES = cases(200)
MOVES = (*TO_DST, *FROM_DST)
KINDS = [
    (kind, fmt, width)
    for kind in MOVES
    for fmt in Format
    for width in WIDTHS
    # TF32 has 32-bit words alone; other formats have them to Dst only if moves follow Fp32_enabled.
    if (
        width == WIDTHS[1]
        if fmt is Format.TF32
        else width != WIDTHS[1] or kind in FROM_DST or NUMERICS.moves_follow_fp32
    )
] + [(kind, Format.BF16, WIDTHS[0]) for kind in (MoveKind.BANKS, MoveKind.MOVB2A, MoveKind.TRNSPSRCB)]


def name(kind) -> str:
    return f"{kind[0].name}/{kind[1].name}/{kind[2]}"


@BENCH.test(
    "mover.moves",
    "Every format has bits of its own in either register; what a move must not touch has to stay",
    free=[1.0, 0.5],
)
async def random_moves(frame, free):
    """Random moves of every kind in every format, to and from 16 bits, 32 bits and low halves; registers free always
    and now and then."""
    rng = pauses.rng("moves")
    order = [*KINDS, *rng.choices(KINDS, k=max(0, CASES - len(KINDS)))]
    rng.shuffle(order)
    coverage = frame.coverage(map(name, KINDS))
    table = MoverTable(frame, Registers.random(rng), NUMERICS)
    for kind in order:
        coverage.hit(name(kind))
        if rng.random() < 0.1:
            table.renew(Registers.random(rng))
        await table.play(random_move(rng, *kind), rng, free)


@BENCH.test("mover.banks", "A bank that keeps a block of old words is a wrong operand later")
async def every_bank(frame):
    """Each source, both and none, the unpacker's bank, the Matrix unit's and both, to zeros and to ones, with the
    cycles that takes."""
    rng = pauses.rng("banks")
    coverage = frame.coverage(cross(range(4), ("unpacker", "Matrix unit", "both"), (0, 1)))
    table = MoverTable(frame, Registers.random(rng), NUMERICS)
    for clears in range(4):
        for which, bank in enumerate(("unpacker", "Matrix unit", "both")):
            for ones in range(2):
                table.renew(Registers.random(rng))
                move = random_move(rng, MoveKind.BANKS, Format.BF16, WIDTHS[0])
                move |= {"clears": clears, "ones": ones, "matrix_bank": which == 1, "both_banks": which == 2}
                cycles = await table.play(move, rng)
                assert cycles == (BANK_BLOCKS * (1 + (which == 2)) if clears else 1)
                coverage.hit(clears, bank, ones)


@BENCH.test("mover.places", "A row at a wrong place would be another datum's")
async def every_place(frame):
    """Every source row of two blocks to every row of a block; aligned places with a random number of rows."""
    rng = pauses.rng("places")
    table = MoverTable(frame, Registers.random(rng), NUMERICS)
    for kind in (*MOVES, MoveKind.MOVB2A):
        for source in range(2 * BLOCK_ROWS):
            for target in range(BLOCK_ROWS):
                move = random_move(rng, kind, Format.FP16, WIDTHS[0])
                log2 = 0 if source % 4 or target % 4 else move["rows_log2"]
                aligned = ~((1 << log2) - 1)
                move |= {"rows_log2": log2, "spread": move["spread"] if log2 == 3 else 0}
                move |= {"src_row": source & aligned, "src_a_row": target & aligned, "dst_row": target & aligned}
                await table.play(move, rng)


@BENCH.test("mover.latency", "The core's throughput of moves")
async def latency(frame):
    """A cycle for each move, four for a transposition."""
    rng = pauses.rng("latency")
    table = MoverTable(frame, Registers.random(rng), NUMERICS)
    for kind in KINDS[:: max(1, 4 // CASES)]:
        move = random_move(rng, *kind) | {"clears": 0}
        assert await table.play(move, rng) == (4 if kind[0] is MoveKind.TRNSPSRCB else 1), name(kind)


@BENCH.test("mover.resets", "The next move would begin in the middle")
async def resets(frame):
    """Resets in the middle of a clearing and of a transposition."""
    rng = pauses.rng("resets")
    table = MoverTable(frame, Registers.random(rng), NUMERICS)
    for kind in (MoveKind.BANKS, MoveKind.TRNSPSRCB):
        for cycles in range(1, 4):
            move = random_move(rng, kind, Format.BF16, WIDTHS[0]) | {"clears": 3, "both_banks": 1}
            assert await table.play(move, rng, cycles=cycles) == cycles
            await frame.reset()
            table.renew(Registers.random(rng))
            await table.play(move, rng)
