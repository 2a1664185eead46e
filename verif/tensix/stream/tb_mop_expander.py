"""Bench of the MOP expander, cycle by cycle against golden: random programs, every form of both templates, resets."""

from itertools import product

from bitpath.golden.tensix.declarations.encodings import EXTRA_ROUNDS, MOP_WORDS
from bitpath.golden.tensix.isa.expanders import MopExpander
from bitpath.golden.tensix.isa.words import encode
from bitpath.rtl.tensix.stream.expanders import MopExpander as MopExpanderRtl
from bitpath.rtl.tensix.stream.expanders import MopExpanderConfig
from bitpath.verif.kit.unit_bench import PACES, UnitBench, cases, pauses
from bitpath.verif.tensix.stream import programs
from bitpath.verif.tensix.stream.table import Table

BENCH = UnitBench(MopExpanderRtl, MopExpanderConfig)
CASES = cases(300)
SHARES = {"plain": 4, "mop 0": 2, "mop 1": 3, "mask": 1, "play": 0.5}
IDLE = ("nothing came", "after a MOP", "empty MOP", "nothing to send")
MOST_WORDS = 127 * (1 + 2 * 127 + 2)
"""Words of the longest expansion; the page has this number too."""
TEMPLATE_1 = encode("MOP", template=1)


@BENCH.test(
    "mop_expander.programs",
    "MOPExpander, Performance: a word a cycle, one idle cycle between a MOP and another word",
    pace=list(PACES),
)
async def random_programs(frame, pace):
    """Random words of all kinds at every pace, while random words of the configuration are written; every handshake,
    word and idle cycle equal to golden's."""
    rng = pauses.rng("program")
    gaps, stalls = (make() for make in PACES[pace])
    events = ("illegal", "MOP after MOP", "write waits", "write beside a word", "place without a word")
    coverage = frame.coverage([f"idle/{reason}" for reason in IDLE] + [*events])
    table = Table(frame, MopExpander)
    # Words that few random programs have; the configuration is 0 as long as they are there.
    table.words.extend([TEMPLATE_1, TEMPLATE_1, encode("MOP_CFG") | 1 << 16])
    table.words.extend(programs.word(rng, SHARES) for _ in range(CASES))
    (stage,) = table.stages
    while table.words:
        if not table.writes and len(table.words) < CASES and rng.random() < 0.5:
            place = rng.randrange(MOP_WORDS + 1)
            table.writes.append((place, programs.configuration(rng, place)))
        happens = {
            "illegal": stage.illegal,
            "MOP after MOP": stage.has_mop and stage.follows_mop,
            "write waits": bool(table.writes) and stage.has_mop,
            "write beside a word": bool(table.writes) and stage.offered is not None and not stage.has_mop,
            "place without a word": bool(table.writes) and table.writes[0][0] >= MOP_WORDS,
        }
        for event in (each for each in events if happens[each]):
            coverage.hit(event)
        if stage.idle:
            coverage.hit("idle", stage.idle)
        await table.cycle(offers=not next(gaps), takes=not next(stalls), writes=rng.random() < 0.5)
    await table.finish()


async def expanded(table, config, *words):
    """Write a configuration, play words and return those that left."""
    table.writes.extend(enumerate(config))
    while table.writes:
        await table.cycle(offers=False)
    del table.given[:]
    table.idle.clear()
    table.words.extend(words)
    await table.finish()
    return table.given


@BENCH.test(
    "mop_expander.loops",
    "The last word of a loop is replaced, an alternative doubles the loop, and a single round of ends is done 129 "
    "times",
)
async def every_loop(frame):
    """Template 1 with counts 0 to 3 and every pattern of NOPs, each in front of another word."""
    rng = pauses.rng("words")
    coverage = frame.coverage(["no words", "one word", "one round with ends only", "more words"])
    table = Table(frame, MopExpander)
    for outer, inner, nops in product(range(4), range(4), product((False, True), repeat=4)):
        config = [outer, inner, *(programs.plain(rng) for _ in range(MOP_WORDS - 2))]
        for place, is_nop in zip((2, 3, 4, 6), nops, strict=True):
            if is_nop:
                config[place] = programs.nop(rng)
        given = await expanded(table, config, TEMPLATE_1, programs.plain(rng))
        count = len(given) - 1
        assert table.idle["after a MOP"] == 1
        only_ends = outer == 1 and not inner and nops[0] and not nops[1]
        if only_ends:
            assert count == (1 + EXTRA_ROUNDS) * (2 - nops[2])
            coverage.hit("one round with ends only")
        else:
            coverage.hit(("no words", "one word", "more words")[min(count, 2)])


@BENCH.test("mop_expander.longest", "MOP: the page's largest number")
async def the_longest_expansion(frame):
    """The expansion of 32,639 words."""
    rng = pauses.rng("words")
    table = Table(frame, MopExpander)
    config = [127, 127, *(programs.plain(rng) for _ in range(MOP_WORDS - 2))]
    assert len(await expanded(table, config, TEMPLATE_1)) == MOST_WORDS


@BENCH.test("mop_expander.masks", "A round beyond the mask finds 0")
async def every_mask(frame):
    """Template 0 with every flag, masks of zeros, ones and random bits, and 1 to 128 rounds."""
    rng = pauses.rng("words")
    coverage = frame.coverage([f"flags {flags}/{bit}" for flags in range(4) for bit in ("play", "skip")])
    table = Table(frame, MopExpander)
    masks = (0, 0xFFFFFFFF, 0x80000001, rng.getrandbits(32), rng.getrandbits(32))
    for flags, count, mask in product(range(4), (1, 2, 16, 17, 32, 33, 128), masks):
        config = [0, flags, *(programs.plain(rng) for _ in range(MOP_WORDS - 2))]
        words = (
            encode("MOP_CFG", mask_high=mask >> 16),
            encode("MOP", count_minus_1=count - 1, mask_low=mask & 0xFFFF),
        )
        given = await expanded(table, config, *words)
        plays = [not mask >> i & 1 for i in range(count)]
        for bit in {*plays}:
            coverage.hit(f"flags {flags}", "play" if bit else "skip")
        b, a123 = flags & 1, flags >> 1
        assert len(given) == sum(1 + b + 3 * a123 * plays_it for plays_it in plays)


@BENCH.test("mop_expander.mask_stays", "MaskHi is state of the thread")
async def the_mask_stays(frame):
    """MOPs of both templates and other words behind one MOP_CFG."""
    rng = pauses.rng("words")
    table = Table(frame, MopExpander)
    config = [1, 0, *(programs.plain(rng) for _ in range(MOP_WORDS - 2))]
    template_0 = encode("MOP", count_minus_1=31)
    words = [encode("MOP_CFG", mask_high=0x8001), template_0, programs.plain(rng), TEMPLATE_1, template_0]
    given = await expanded(table, config, *words)
    halves = [given[:32], given[-32:]]
    assert halves[0] == halves[1]
    assert [word == config[7] for word in halves[0]] == [i in (16, 31) for i in range(32)]


@BENCH.test("mop_expander.reset", "Half an expansion from before would shift all that follows")
async def resets(frame):
    """Resets in both templates, with words in front and behind."""
    rng = pauses.rng("words")
    table = Table(frame, MopExpander)
    for template, cycles, takes in product((0, 1), (1, 2, 5), (False, True)):
        config = [2, 3, *(programs.plain(rng) for _ in range(MOP_WORDS - 2))]
        table.writes.extend(enumerate(config))
        while table.writes:
            await table.cycle()
        mop = encode("MOP", template=template, count_minus_1=7, mask_low=0x5A)
        table.words.extend([encode("MOP_CFG", mask_high=0xFFFF), mop, programs.plain(rng)])
        for _ in range(1 + cycles):
            await table.cycle(takes=takes)
        await frame.reset()
        table.restart()
        for _ in range(3):
            await table.cycle()
        table.words.extend([programs.plain(rng), encode("MOP", count_minus_1=31), programs.plain(rng)])
        await table.finish()
        assert table.given[1:-1] == [0] * 32
