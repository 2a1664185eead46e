"""Random words and configurations for the expanders."""

from random import Random

from bitpath.golden.tensix.declarations.encodings import COUNT_MASK, MOP_WORDS, OPCODE_LOW, REPLAY_WORDS, WORD_BITS
from bitpath.golden.tensix.isa.words import encode
from bitpath.verif.tensix.stream.table import ENCODINGS

HANDLED = ("MOP", "MOP_CFG", "REPLAY")
"""Instructions that do not leave the expanders."""
_OPCODES = {ENCODINGS[name].opcode for name in HANDLED}
NOP_SHARE = 0.4
"""Share of NOPs among the configuration words."""
LONGEST = 4
"""Highest count of random loops."""
ILLEGAL_SHARE = 0.25


def plain(rng: Random) -> int:
    """Return a word that no expander handles."""
    opcode = rng.choice([each for each in range(256) if each not in _OPCODES])
    return opcode << OPCODE_LOW | rng.getrandbits(OPCODE_LOW)


def nop(rng: Random) -> int:
    """Return a NOP, whose other bits count for nothing where a MOP is expanded."""
    return ENCODINGS["NOP"].opcode << OPCODE_LOW | rng.getrandbits(OPCODE_LOW)


def mop(rng: Random, template: int) -> int:
    """Return a MOP of few rounds; template 1 does not look at its other fields."""
    count = rng.randrange(LONGEST + 1) if rng.random() < 0.9 else rng.randrange(REPLAY_WORDS + 8)
    return encode("MOP", template=template, count_minus_1=count, mask_low=rng.getrandbits(16))


def mask(rng: Random) -> int:
    """Return a MOP_CFG, now and then with ones in bits of no field."""
    stray = rng.getrandbits(8) << 16 if rng.random() < ILLEGAL_SHARE else 0
    return encode("MOP_CFG", mask_high=rng.getrandbits(16)) | stray


def replay(rng: Random, *, load: bool, count: int | None = None) -> int:
    """Return a REPLAY, now and then with ones in bits of no field or of more than 32 words."""
    if count is None:
        count = rng.choice([0, 1, 2, 3, rng.randrange(REPLAY_WORDS + 1)])
    illegal = rng.random() < ILLEGAL_SHARE
    stray = rng.getrandbits(4) << 10 if illegal and rng.random() < 0.5 else 0
    if illegal and not stray and count:
        count |= REPLAY_WORDS
    return encode("REPLAY", start=rng.randrange(32), count=count, execute=rng.randrange(2), load=int(load)) | stray


def word(rng: Random, shares: dict[str, float]) -> int:
    """Return a word of a random kind: "plain", "mop 0", "mop 1", "mask", "load" or "play", by shares."""
    (kind,) = rng.choices([*shares], [*shares.values()])
    if kind.startswith("mop"):
        return mop(rng, int(kind[-1]))
    makers = {"plain": plain, "mask": mask}
    return makers[kind](rng) if kind in makers else replay(rng, load=kind == "load")


def configuration(rng: Random, place: int) -> int:
    """Return a word for a place of the configuration: small counts below any bits, NOPs among the instructions."""
    if place < 2:
        return rng.getrandbits(WORD_BITS) & ~COUNT_MASK | rng.randrange(LONGEST)
    return nop(rng) if rng.random() < NOP_SHARE else plain(rng)


def configurations(rng: Random) -> list[int]:
    return [configuration(rng, place) for place in range(MOP_WORDS)]
