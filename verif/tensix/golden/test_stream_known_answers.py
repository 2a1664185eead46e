"""Known answers of ttsim v1.10.0 for expanders and counters of both chips: golden must equal every one."""

from functools import partial

import pytest

from bitpath.golden.tensix.core.adc import Adc, Adcs, add_cr_four, add_four, set_four, setadc, setadcxx
from bitpath.golden.tensix.core.rwc import Modifier, Rwc, apply_modifier, incrwc, modifier_number, setrwc
from bitpath.golden.tensix.declarations.encodings import DIMENSIONS, MODIFIERS
from bitpath.golden.tensix.isa import decode, encode
from bitpath.golden.tensix.isa.expanders import MopExpander, ReplayExpander

ARCHIVE = "tensix_bh_control.npz"
CHIPS = {"wh": "wormhole", "bh": "blackhole"}
NOP = encode("NOP")
ADC_STEPS = {
    "SETADC": setadc,
    "SETADCXX": setadcxx,
    **dict.fromkeys(("SETADCXY", "SETADCZW"), set_four),
    **dict.fromkeys(("INCADCXY", "INCADCZW"), add_four),
    **dict.fromkeys(("ADDRCRXY", "ADDRCRZW"), add_cr_four),
}


@pytest.mark.parametrize("chip", CHIPS)
def test_expanders(kat, chip):
    archive = kat(ARCHIVE)
    words, expected, starts, ends, configs = (
        archive[f"{chip}_x_{name}"].tolist() for name in ("in", "out", "in_offset", "out_offset", "mop_cfg")
    )
    compared = 0
    for case, config in enumerate(configs):
        mop, replay = MopExpander(config), ReplayExpander()
        out = [
            each
            for word in words[starts[case] : starts[case + 1]]
            for middle in mop.feed(word)
            for each in replay.feed(middle)
        ]
        assert [word for word in out if word != NOP] == expected[ends[case] : ends[case + 1]], case
        compared += ends[case + 1] - ends[case]
    assert compared == len(expected) > 0


def rwc_after(rwc, word, modifiers, chip):
    """Return the counters after an instruction."""
    instruction = decode(word, chip=chip)
    fields = dict(instruction.fields)
    if instruction.name == "SETRWC":
        del fields["flip"]
        return setrwc(rwc, **fields)
    if instruction.name == "INCRWC":
        return incrwc(rwc, **fields)
    number = modifier_number(rwc, fields["modifier"], chip=chip)
    return apply_modifier(rwc, modifiers[number], chip=chip)


@pytest.mark.parametrize("chip", CHIPS)
def test_rwcs(kat, chip):
    archive = kat(ARCHIVE)
    mods, words, states = (archive[f"{chip}_r_{name}"].tolist() for name in ("addr_mods", "in", "state"))
    compared = 0
    for case, (ab, dst, bias) in enumerate(mods):
        modifiers = [Modifier(ab=ab[i], dst=dst[i], bias=bias[i]) for i in range(MODIFIERS)]
        rwc = Rwc()
        for word, state in zip(words[case], states[case], strict=True):
            rwc = rwc_after(rwc, word, modifiers, CHIPS[chip])
            counters = (rwc.src_a, rwc.src_a_cr, rwc.src_b, rwc.src_b_cr, rwc.dst, rwc.dst_cr)
            assert [*counters, rwc.fidelity_phase, rwc.extra_bit] == state, (case, hex(word))
            compared += len(state)
    assert compared == archive[f"{chip}_r_state"].size > 0


def adc_numbers(adc: Adc) -> list[int]:
    names = [*DIMENSIONS, *(f"{each}_cr" for each in DIMENSIONS)]
    values = {name: [getattr(each, name) for each in (adc.channel_0, adc.channel_1)] for name in names}
    own, carries = names[: len(DIMENSIONS)], names[len(DIMENSIONS) :]
    return [values[name][channel] for part in (own, carries) for channel in range(2) for name in part]


@pytest.mark.parametrize("chip", CHIPS)
def test_adcs(kat, chip):
    archive = kat(ARCHIVE)
    words, states = (archive[f"{chip}_a_{name}"].tolist() for name in ("in", "state"))
    compared = 0
    for case, program in enumerate(words):
        adcs = Adcs()
        for word, state in zip(program, states[case], strict=True):
            instruction = decode(word, chip=CHIPS[chip])
            fields = dict(instruction.fields)
            units = fields.pop("units")
            adcs = adcs.updated(units, partial(ADC_STEPS[instruction.name], **fields))
            assert [adc_numbers(adcs.unit(unit)) for unit in range(3)] == state, (case, hex(word))
            compared += sum(map(len, state))
    assert compared == archive[f"{chip}_a_state"].size > 0
