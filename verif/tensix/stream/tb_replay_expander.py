"""Bench of the replay expander, cycle by cycle against golden: random programs, every place, resets."""

from itertools import product

from bitpath.golden.tensix.declarations.encodings import REPLAY_WORDS
from bitpath.golden.tensix.isa.expanders import ReplayExpander
from bitpath.golden.tensix.isa.words import encode
from bitpath.rtl.tensix.stream.expanders import ReplayExpander as ReplayExpanderRtl
from bitpath.rtl.tensix.stream.expanders import ReplayExpanderConfig
from bitpath.verif.kit.unit_bench import PACES, UnitBench, cases, cross, pauses
from bitpath.verif.tensix.stream import programs
from bitpath.verif.tensix.stream.table import Table

BENCH = UnitBench(ReplayExpanderRtl, ReplayExpanderConfig)
CASES = cases(300)
SHARES = {"plain": 6, "mop 0": 0.5, "mask": 0.5, "load": 1, "play": 2}
IDLE = ("nothing came", "nothing to send")
COUNTS = (1, 2, 31, 32, 0)


@BENCH.test(
    "replay_expander.programs", "REPLAY, Performance: a word a cycle, no idle cycle between modes", pace=list(PACES)
)
async def random_programs(frame, pace):
    """Random words of all kinds at every pace; every handshake, word and idle cycle equal to golden's."""
    rng = pauses.rng("program")
    gaps, stalls = (make() for make in PACES[pace])
    kinds = ("loads", "executes", "REPLAY while loading", "illegal")
    coverage = frame.coverage([f"idle/{reason}" for reason in IDLE] + [*kinds])
    table = Table(frame, ReplayExpander)
    # Every place holds a word before a random REPLAY plays.
    table.words.extend([encode("REPLAY", load=1), *(programs.plain(rng) for _ in range(REPLAY_WORDS))])
    table.words.append(encode("REPLAY") | 1 << 2)
    table.words.extend(programs.word(rng, SHARES) for _ in range(CASES))
    (stage,) = table.stages
    while table.words:
        happens = {
            "loads": stage.golden.loading and stage.idle == "nothing to send",
            "executes": stage.golden.loading and stage.offered is not None,
            "REPLAY while loading": stage.golden.loading and stage.has("REPLAY"),
            "illegal": stage.illegal,
        }
        for event in (each for each in kinds if happens[each]):
            coverage.hit(event)
        if stage.idle:
            coverage.hit("idle", stage.idle)
        await table.cycle(offers=not next(gaps), takes=not next(stalls))
    await table.finish()


async def played(table, *words):
    """Play words and return those that left."""
    del table.given[:]
    table.idle.clear()
    table.words.extend(words)
    await table.finish()
    return table.given


@BENCH.test("replay_expander.places", "The place wraps, and a count of 0 means 32")
async def every_place(frame):
    """Every first place with 1, 2, 31, 32 and 0 words, loaded with and without execution and played twice."""
    rng = pauses.rng("words")
    kinds = cross(COUNTS[1:], ("wraps", "in order"))
    coverage = frame.coverage(["1/in order", *kinds])
    table = Table(frame, ReplayExpander)
    for start, count in product(range(REPLAY_WORDS), COUNTS):
        number = count or REPLAY_WORDS
        words = [programs.plain(rng) for _ in range(number)]
        execute = rng.randrange(2)
        fields = {"start": start, "count": count}
        given = await played(table, encode("REPLAY", load=1, execute=execute, **fields), *words)
        assert given == words * execute
        given = await played(table, encode("REPLAY", **fields), encode("REPLAY", **fields))
        assert given == words * 2
        # The first word comes a cycle after its REPLAY, and all others at once.
        assert table.idle == {"nothing came": 1}
        coverage.hit(count, "wraps" if start + number > REPLAY_WORDS else "in order")


@BENCH.test("replay_expander.counts", "They are not supported: such a REPLAY is refused")
async def counts_above_32(frame):
    """Send a REPLAY with every count above 32."""
    rng = pauses.rng("words")
    table = Table(frame, ReplayExpander)
    words = [programs.plain(rng) for _ in range(REPLAY_WORDS)]
    await played(table, encode("REPLAY", load=1), *words)
    for count in range(REPLAY_WORDS + 1, 2 * REPLAY_WORDS):
        for load in range(2):
            assert await played(table, encode("REPLAY", count=count, load=load)) == []
            assert await played(table, encode("REPLAY", count=2)) == words[:2]


@BENCH.test("replay_expander.reset", "What comes behind must not be loaded")
async def resets(frame):
    """Resets while words are loaded and played."""
    rng = pauses.rng("words")
    table = Table(frame, ReplayExpander)
    for load, execute, cycles, takes in product((0, 1), (0, 1), (1, 3, 6), (False, True)):
        words = [programs.plain(rng) for _ in range(REPLAY_WORDS)]
        await played(table, encode("REPLAY", load=1), *words)
        fields = {"start": 30, "count": 9, "load": load, "execute": execute}
        table.words.extend([encode("REPLAY", **fields), *words[:20]])
        for _ in range(1 + cycles):
            await table.cycle(takes=takes)
        await frame.reset()
        table.restart()
        for _ in range(3):
            await table.cycle()
        words = [programs.plain(rng) for _ in range(5)]
        again = [encode("REPLAY", load=1, start=29, count=5), *words, encode("REPLAY", start=29, count=5)]
        assert await played(table, *words, *again) == words * 2
