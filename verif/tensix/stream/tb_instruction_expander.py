"""Bench of both expanders in a row, cycle by cycle against golden: random programs, and cycles that a REPLAY hides."""

from bitpath.golden.tensix.declarations.encodings import MOP_WORDS, REPLAY_WORDS
from bitpath.golden.tensix.isa.expanders import MopExpander, ReplayExpander
from bitpath.golden.tensix.isa.words import encode
from bitpath.rtl.tensix.stream.expanders import InstructionExpander, InstructionExpanderConfig
from bitpath.verif.kit.unit_bench import PACES, UnitBench, cases, pauses
from bitpath.verif.tensix.stream import programs
from bitpath.verif.tensix.stream.table import Table

BENCH = UnitBench(InstructionExpander, InstructionExpanderConfig)
CASES = cases(300)
SHARES = {"plain": 4, "mop 0": 1, "mop 1": 2, "mask": 1, "load": 1, "play": 2}
TEMPLATE_1 = encode("MOP", template=1)


def configuration(rng, place):
    """Return a random word, among the instructions REPLAYs that play."""
    if place >= 2 and rng.random() < 0.3:
        return programs.replay(rng, load=False)
    return programs.configuration(rng, place)


@BENCH.test(
    "instruction_expander.programs", "The replay expander handles what the MOP expander sends", pace=list(PACES)
)
async def random_programs(frame, pace):
    """Random words of all kinds at every pace, MOPs of REPLAYs and loads of MOPs among them; every handshake, word and
    idle cycle equal to golden's."""
    rng = pauses.rng("program")
    gaps, stalls = (make() for make in PACES[pace])
    coverage = frame.coverage(["REPLAY of a MOP", "MOP loads", "MOP waits for a REPLAY", "illegal"])
    table = Table(frame, MopExpander, ReplayExpander)
    table.words.extend([encode("REPLAY", load=1), *(programs.plain(rng) for _ in range(REPLAY_WORDS))])
    table.words.append(encode("MOP_CFG") | 1 << 16)
    table.words.extend(programs.word(rng, SHARES) for _ in range(CASES))
    mop, replay = table.stages
    while table.words:
        if not table.writes and rng.random() < 0.5:
            place = rng.randrange(MOP_WORDS)
            table.writes.append((place, configuration(rng, place)))
        takes = not next(stalls)
        if mop.has_mop:
            if replay.golden.loading:
                coverage.hit("MOP loads")
            elif mop.offered is not None and mop.offered >> 24 == encode("REPLAY") >> 24:
                coverage.hit("REPLAY of a MOP")
            if mop.offered is not None and len(replay.words) > 1:
                coverage.hit("MOP waits for a REPLAY")
        if mop.illegal or replay.illegal:
            coverage.hit("illegal")
        await table.cycle(offers=not next(gaps), takes=takes, writes=rng.random() < 0.5)
    await table.finish()


@BENCH.test("instruction_expander.hidden", "MOPExpander, Performance: two words hide it")
async def a_replay_hides_the_cycle_after_a_mop(frame):
    """The idle cycle behind a MOP, with and without a REPLAY of 1 to 4 words at its end."""
    rng = pauses.rng("words")
    table = Table(frame, MopExpander, ReplayExpander)
    table.words.extend([encode("REPLAY", load=1), *(programs.plain(rng) for _ in range(REPLAY_WORDS))])
    await table.finish()
    nop = encode("NOP")
    for count in range(5):
        loop = encode("REPLAY", count=count) if count else programs.plain(rng)
        table.writes.extend(enumerate([3, 2, nop, nop, nop, loop, nop, loop, loop]))
        while table.writes:
            await table.cycle()
        del table.given[:]
        table.words.extend([programs.plain(rng), TEMPLATE_1, *(programs.plain(rng) for _ in range(4))])
        idle = 0
        while not table.empty:
            await table.cycle()
            started = bool(table.given)
            idle += started and len(table.given) < 5 + 6 * (count or 1) and table.stages[-1].offered is None
        assert idle == (count < 2)


@BENCH.test("instruction_expander.rate", "One pushed word for 16, and no idle cycle")
async def a_word_for_sixteen(frame):
    """MOPs of a REPLAY of 16 words."""
    rng = pauses.rng("words")
    products = [programs.plain(rng) for _ in range(16)]
    table = Table(frame, MopExpander, ReplayExpander)
    replay, nop = encode("REPLAY", count=16), encode("NOP")
    table.writes.extend(enumerate([1, 1, nop, nop, nop, replay, nop, replay, replay]))
    table.words.extend([encode("REPLAY", load=1, count=16), *products])
    await table.finish()
    table.words.extend([TEMPLATE_1] * 8)
    table.idle.clear()
    await table.finish()
    assert table.given == products * 8
    assert table.idle == {"nothing came": 2}


@BENCH.test("instruction_expander.reset", "Both expanders must start at a word of their own")
async def resets(frame):
    """Resets in a MOP of REPLAYs."""
    rng = pauses.rng("words")
    table = Table(frame, MopExpander, ReplayExpander)
    for cycles in (3, 6, 11):
        words = [programs.plain(rng) for _ in range(REPLAY_WORDS)]
        loop, nop = encode("REPLAY", count=3), encode("NOP")
        table.writes.extend(enumerate([3, 2, nop, nop, nop, loop, nop, loop, loop]))
        table.words.extend([encode("REPLAY", load=1), *words])
        await table.finish()
        table.words.extend([TEMPLATE_1, *words])
        for _ in range(cycles):
            await table.cycle()
        await frame.reset()
        table.restart()
        for _ in range(3):
            await table.cycle()
        table.words.extend([programs.plain(rng), encode("MOP"), encode("REPLAY", load=1), *words, encode("REPLAY")])
        await table.finish()
        assert table.given[1:] == [0, *words]


@BENCH.test("instruction_expander.long_loops", "The counters of both loops reach their largest numbers")
async def long_loops(frame):
    """Loops of 127 outer and of 127 inner rounds, 129 rounds of ends, and template 0 of 128 rounds."""
    rng = pauses.rng("words")
    table = Table(frame, MopExpander, ReplayExpander)
    words = [programs.plain(rng) for _ in range(7)]
    nop = encode("NOP")
    for counts, own, length in (
        ((127, 2), words, 127 * (1 + 4 + 2)),
        ((3, 127), words, 3 * (1 + 254 + 2)),
        ((1, 0), [nop, *words[1:]], 129 * 2),
    ):
        table.writes.extend(enumerate([*counts, *own]))
        while table.writes:
            await table.cycle()
        del table.given[:]
        table.words.append(TEMPLATE_1)
        await table.finish()
        assert len(table.given) == length
    table.words.append(encode("MOP", count_minus_1=127, mask_low=rng.getrandbits(16)))
    await table.finish()
