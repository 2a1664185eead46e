"""Known answers of ttsim v1.10.0 for the Vector unit: the vectorised model must equal every one, bit for bit."""

import numpy as np
import pytest

from bitpath.golden.tensix.declarations.formats import Chip
from bitpath.golden.tensix.declarations.numerics import CHIP_PRESETS
from bitpath.golden.tensix.isa import decode
from bitpath.golden.tensix.sfpu import Lanes, execute
from bitpath.golden.tensix.sfpu.lanes_loop import LANE_CONFIG, MISC, PRNG, SEQUENCES, TEMPLATES

CHIPS = {"wh": Chip.WORMHOLE, "bh": Chip.BLACKHOLE}
OF_CHIP = pytest.mark.parametrize("chip", CHIPS)
PLACES = {32: PRNG, 48: MISC, 49: LANE_CONFIG} | {40 + i: TEMPLATES + i for i in range(4)} | {44 + i: SEQUENCES + i for i in range(4)}
"""Places of the archives' registers from 32 on."""


def bits(words):
    """Return flags of 32 lanes, bool [..., 32], of words with a bit for each lane."""
    return (np.asarray(words, np.uint32)[..., np.newaxis] >> np.arange(32, dtype=np.uint32) & 1).astype(bool)


def states(lregs, programmed, cc, cc_en, sp, st_cc, st_en, prng):
    """Return lanes of a batch in the states of an archive."""
    lanes = Lanes((len(lregs),))
    lanes.lreg[:8] = np.moveaxis(lregs, 1, 0)
    lanes.lreg[11:15] = np.moveaxis(programmed, 1, 0)[..., np.newaxis]
    lanes.flags[:], lanes.use_flags[:] = bits(cc), cc_en[:, np.newaxis] != 0
    lanes.depth[:] = sp[:, np.newaxis]
    flags, use_flags = lanes.stack
    flags[:], use_flags[:] = np.moveaxis(bits(st_cc), 1, 0), np.moveaxis(st_en, 1, 0)[..., np.newaxis] != 0
    if prng is not None:
        lanes.prng[:] = prng
    return lanes


@OF_CHIP
def test_sfpu_single_known_answers(kat, chip):
    archive = kat(f"sfpu_{chip}_single")
    numerics, count = CHIP_PRESETS[CHIPS[chip]].numerics, len(archive["word"])
    names = "l lprog cc cc_en sp st_cc st_en prng".split()
    pool = states(*(archive[f"pool_{name}"] for name in names))
    pool.templates[:], pool.sequences[:] = (np.moveaxis(archive[f"pool_{each}"], 1, 0)[..., np.newaxis] for each in ("templ", "seq"))
    pool.misc[:] = archive["pool_misc"][:, np.newaxis]
    changes = {}
    for case, register, changed, values in archive.rows("d_case", "d_reg", "d_lanes", "d_val"):
        changes.setdefault(int(case), []).append((PLACES.get(int(register), int(register)), bits(changed), values))
    outputs = archive.lists("word", "state", "lane_config", "l0", "cc_out", "cc_en_out", "sp_out", "top_cc_out", "top_en_out")
    lanes = Lanes()
    compared = 0
    wrong = {}
    for case, (word, state, config, l0, cc, cc_en, sp, top_cc, top_en) in enumerate(outputs):
        lanes.words[:], lanes.bits[:] = pool.words[:, [state]], pool.bits[:, [state]]
        lanes.lane_config[:] = config
        if l0 != 0xFFFFFFFF:
            lanes.lreg[0] = l0
        expected = lanes.words[:, 0].copy()
        for place, changed, values in changes.get(case, ()):
            expected[place] = np.where(changed, values, expected[place])
        label = str(archive["labels"][archive["label"][case]])
        try:
            execute(lanes, decode(word, chip=CHIPS[chip]), CHIPS[chip], numerics)
        except Exception as e:
            wrong.setdefault(label, []).append((case, repr(e))); continue
        expected[29] = sp
        ok = np.array_equal(np.delete(lanes.words[:, 0], 28, 0), np.delete(expected, 28, 0)) and np.array_equal(lanes.flags, bits(cc)) and np.array_equal(lanes.use_flags, np.full(32, bool(cc_en)))
        if sp:
            ok = ok and np.array_equal(lanes.stack[0][sp - 1], bits(top_cc)) and np.array_equal(lanes.stack[1][sp - 1], np.full(32, bool(top_en)))
        if not ok:
            wrong.setdefault(label, []).append((case, hex(word)))
        compared += 1
    print({k: (len(v), v[:2]) for k, v in wrong.items()})
    assert not wrong
    assert compared == count > 0
