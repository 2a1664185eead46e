"""Random states and instructions of the Vector unit, for tests that compare its models."""

import numpy as np

from bitpath.golden.tensix.declarations.encodings import BY_NAME
from bitpath.golden.tensix.declarations.sfpu import HAS_ROTATED
from bitpath.golden.tensix.isa import Instruction, encode
from bitpath.golden.tensix.isa.words import word_of
from bitpath.golden.tensix.sfpu import Lanes
from bitpath.verif.tensix.golden.samples import BOUNDARIES

CORNERS = np.array(
    [
        *(sign << 31 | each for sign in (0, 1) for each in BOUNDARIES),
        *(
            sign << 31 | exponent << 23 | fraction
            for sign in (0, 1)
            for exponent in (0, 1, 103, 126, 127, 128, 143, 254, 255)
            for fraction in (0, 1, 0x3FFFFF, 0x400000, 0x7FFFFF)
        ),
        *range(-34, 35),
    ],
    np.int64,
).astype(np.uint32)


def random_words(rng, shape):
    """Return random words, half of them corners."""
    words = rng.integers(0, 1 << 32, shape, np.uint32)
    return np.where(rng.integers(0, 2, shape), rng.choice(CORNERS, shape), words).astype(np.uint32)


def random_lanes(rng, batch, lane_config=None):
    """Return lanes in random states: related words in LRegs, flags with a stack, a LaneConfig of its own in every column."""
    lanes = Lanes((batch,))
    lanes.lreg[:8] = random_words(rng, lanes.lreg[:8].shape)
    near = rng.integers(0, 4, lanes.lreg[1:8].shape) == 0
    lanes.lreg[1:8] = np.where(near, lanes.lreg[0] ^ rng.integers(0, 3, near.shape, np.uint32), lanes.lreg[1:8])
    for each in (lanes.lreg[11:15], lanes.lreg[16:], lanes.prng, lanes.templates, lanes.sequences):
        each[...] = random_words(rng, each.shape)
    lanes.misc[:] = rng.integers(0, 1 << 12, lanes.misc.shape)
    columns = rng.integers(0, 1 << 18, (batch, 8), np.uint32) if lane_config is None else lane_config
    lanes.lane_config[:] = np.tile(columns, 4)
    lanes.depth[:] = rng.integers(1, 8, (batch, 1))
    for each in (lanes.flags, lanes.use_flags, *lanes.stack):
        each[...] = rng.integers(0, 2, each.shape)
    lanes.use_flags[:] |= rng.integers(0, 2, (batch, 1)) == 0
    lanes.rotated[:] = random_words(rng, lanes.rotated.shape)
    lanes.bits[HAS_ROTATED] = True
    return lanes


def instructions(rng, chip, name):
    """Yield an instruction with every modifier, with operands at random: VD mostly a result's, at times 8 to 15."""
    fields = BY_NAME[chip][name].fields
    known = {each.name: 1 << each.width for each in fields}
    for modifier in range(known.get("mod", 1)):
        for _ in range(2):
            values = {each: int(rng.integers(size)) for each, size in known.items()}
            if "vd" in values and name != "SFPCONFIG" and rng.integers(4):
                values["vd"] %= 8
            yield Instruction(name=name, fields=values | ({"mod": modifier} if "mod" in known else {}))


SIMPLE = ("SFPABS", "SFPAND", "SFPIADD", "SFPLZ", "SFPSETCC", "SFPSHFT", "SFPMOV", "SFPSETEXP", "SFPSWAP", "SFPPUSHC")
MAD = ("SFPMAD", "SFPADDI", "SFPMULI", "SFPLUT", "SFPMUL", "SFPLUTFP32")
ROUND = ("SFP_STOCH_RND", "SFPSHFT2")


def random_macro(rng, chip):
    """Return the words of a thread with SFPLOADMACRO, and lanes with its configuration."""
    lanes = random_lanes(rng, 1, np.zeros(8, np.uint32))
    names = [rng.choice(each) for each in (SIMPLE, MAD, ROUND)]
    words = []
    for name in names:
        known = {each.name: 1 << each.width for each in BY_NAME[chip][name].fields}
        fields = {each: int(rng.integers(size)) for each, size in known.items()}
        small = {each: fields[each] % 8 for each in ("va", "vb", "vc", "vd") if each in fields}
        words.append(word_of(name, fields | small | {"mod": 5 if name == "SFPSHFT2" else 0}, chip))
    lanes.templates[:] = np.array([*words, 0], np.uint32)[:, np.newaxis, np.newaxis]
    chosen = [int(rng.choice((0, 4 + place))) if place < 3 else int(rng.choice((0, 3))) for place in range(4)]
    parts = [(int(rng.integers(8)) << 3 | int(rng.integers(4)) << 6 if each else 0) | each for each in chosen]
    lanes.sequences[:] = sum(each << 8 * place for place, each in enumerate(parts))
    lanes.misc[:] = int(rng.choice((3, 4, 2))) | int(rng.integers(16)) << 4
    nop = encode("SFPNOP", chip=chip)
    idle = encode("INCRWC", chip=chip)
    macro = [
        encode(
            "SFPLOADMACRO",
            chip=chip,
            macro=1,
            vd_low=int(rng.integers(4)),
            vd_high=int(rng.integers(2)),
            mod=3,
            address=8 * int(rng.integers(16)),
        )
        for _ in range(3)
    ]
    gaps = [[[nop, idle, nop][int(each)] for each in rng.integers(0, 3, int(rng.integers(1, 9)))] for _ in macro]
    return [word for pair in zip(macro, gaps, strict=True) for word in (pair[0], *pair[1])], lanes
