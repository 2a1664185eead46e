"""Known answers of ttsim v1.10.0 for Wormhole and Blackhole: golden must equal every one, bit for bit."""

from functools import partial

import numpy as np
import pytest

from bitpath.golden import tensix
from bitpath.golden.tensix.declarations.encodings import DIMENSIONS, MODIFIERS
from bitpath.golden.tensix.declarations.formats import STYLE_OWN_FORMAT, Format, Style
from bitpath.golden.tensix.declarations.numerics import BLACKHOLE, WORMHOLE
from bitpath.golden.tensix.exact import add, maximum, multiply_add
from bitpath.golden.tensix.isa import decode, encode
from bitpath.golden.tensix.isa.expanders import MopExpander, ReplayExpander
from bitpath.golden.tensix.operands.counters import (
    Adc,
    Adcs,
    Modifier,
    Rwc,
    add_cr_four,
    add_four,
    apply_modifier,
    incrwc,
    modifier_number,
    set_four,
    setadc,
    setadcxx,
    setrwc,
)
from bitpath.verif.kit.known_answers import answers, skip_absent
from bitpath.verif.tensix.golden.samples import scalar_dot

OF_CHIP = pytest.mark.parametrize("chip", ["tensix", "tensix_bh"])
"""Start of the names of a chip's archives."""
CHIPS = {"tensix": "wormhole", "tensix_bh": "blackhole", "wh": "wormhole", "bh": "blackhole"}
NUMERICS = {"tensix": WORMHOLE.numerics, "tensix_bh": BLACKHOLE.numerics}
POOLS = ("GAPOOL", "GMPOOL")

# Products.


def cases(archive):
    """Yield each case's number, the options of all instructions, and Dst, SrcB, SrcA and the Dst words after it."""
    for case in range(len(archive["style"])):
        style = Style(archive["style_names"][archive["style"][case]])
        options = {"style": style, "dst32": bool(archive["use32"][case])}
        for side in "ab":
            if f"fmt{side.upper()}" in archive:
                options[f"src{side}_format"] = Format(archive[f"fmt{side.upper()}"][case])
        yield case, options, *(archive[name][case] for name in ("dst_in", "srcB", "srcA", "dst_out"))


@OF_CHIP
@answers("{chip}_mvmul", whole="dst_out")
def test_mvmul(archive, chip):
    for case, options, dst, b, a, expected in cases(archive):
        phase = int(archive["phase"][case])
        yield expected, tensix.mvmul(dst, b, a, phase=phase, chip=CHIPS[chip], **options)


@OF_CHIP
@answers("{chip}_mvmul")
def test_mvmul_by_the_scalar_tier(archive, chip):
    """Six outputs of every case."""
    rng = np.random.default_rng(11)
    for case, options, dst, b, a, expected in cases(archive):
        for flat in rng.choice(8 * 16, 6, replace=False).tolist():
            i, j = divmod(flat, 16)
            scalars = int(dst[i, j]), b[i].tolist(), a[:, j].tolist()
            got = scalar_dot(NUMERICS[chip], *scalars, phase=int(archive["phase"][case]), **options)
            yield expected[i, j], got


def test_the_quirk_is_in_the_known_answers(kat):
    """Without the bug some answers differ, so the known answers confirm the switch."""
    archive, different = kat("tensix_mvmul"), 0
    for case, options, dst, b, a, expected in cases(archive):
        if options["dst32"]:
            got = tensix.mvmul(dst, b, a, phase=int(archive["phase"][case]), quirk=False, **options)
            different += np.count_nonzero(got != expected)
    skip_absent(archive.name, {"sums of -1 unit": different})


def test_wormholes_quirk_is_absent(kat):
    """The cases of the kind `minus_one` differ on Wormhole."""
    archive, different = kat("tensix_bh_mvmul"), 0
    kinds = archive["kind_names"][archive["kind"]]
    skip_absent(archive.name, {"minus_one": "minus_one" in kinds})
    for case, options, dst, b, a, expected in cases(archive):
        if kinds[case] == "minus_one":
            got = tensix.mvmul(dst, b, a, phase=int(archive["phase"][case]), **options)
            different += np.count_nonzero(got != expected)
    assert different > 0


def elementwise(archive):
    """Yield each case of ELW*, GAPOOL and GMPOOL: its name, its options and operands as the instruction reads them, the Dst
    words after it, and the rows that they show."""
    for case, options, dst, b, a, expected in cases(archive):
        given = {name: array[case] for name, array in archive.items() if not name.endswith("_names")}
        op = str(archive["op_names"][given["op"]])
        defined = given.get("dst_defined", np.ones(8)).astype(bool)
        undefined = (0xFFFFFFFF if options["dst32"] else 0xFFFF) if op == "GMPOOL" else 0
        read, src_b, src_a = np.where(defined[:, np.newaxis], dst, np.uint32(undefined)), b, a
        if op not in POOLS:
            flags = int(given.get("broadcast", 0))
            src_b = tensix.broadcast_src_b(b, row=0 if flags & 2 else None, column_0=bool(flags & 1))
            options["keep_src_b_denormals"] = bool(given.get("keep_denormals", 0))
            src_a = a[:8]
        if op in ("ELWMUL", "GAPOOL"):
            options["phase"] = int(given["phase"])
        if op in ("ELWADD", "ELWSUB"):
            options["accumulate"] = bool(given["accum"])
        # A row that no instruction writes reads as 0 where it is undefined.
        written = np.arange(8) < (4 if op in POOLS else 8)
        yield op, options, read, src_b, src_a, expected, written | defined


@OF_CHIP
@answers("{chip}_elw", whole="dst_out")
def test_elementwise_and_pooling(archive, chip):
    seen = dict.fromkeys(archive["op_names"].tolist(), 0)
    for op, options, dst, b, a, expected, shown in elementwise(archive):
        got = getattr(tensix, op.lower())(dst, b, a, chip=CHIPS[chip], **options)
        yield expected, np.where(shown[:, np.newaxis], got, 0)
        seen[op] += 1
    skip_absent(archive.name, seen)


@OF_CHIP
@answers("{chip}_elw")
def test_elementwise_and_gmpool_by_the_scalar_tier(archive, chip):
    """Ten outputs of every case of ELW*, a row of GMPOOL."""
    rng = np.random.default_rng(12)
    for op, options, dst, b, a, expected, _ in elementwise(archive):
        if op == "GMPOOL":
            given = {name: options[name] for name in ("style", "dst32")}
            yield expected[0], [maximum(int(dst[0, j]), b[0].tolist(), a[:, j].tolist(), **given) for j in range(16)]
        if op in POOLS:
            continue
        operation = multiply_add
        if op != "ELWMUL":
            operation = partial(add, subtract=op == "ELWSUB", accumulating=options.pop("accumulate"))
        own = dict.fromkeys(("srca_format", "srcb_format"), STYLE_OWN_FORMAT[options["style"]])
        for flat in rng.choice(8 * 16, 10, replace=False).tolist():
            scalars = (int(each[divmod(flat, 16)]) for each in (dst, b, a))
            yield expected[divmod(flat, 16)], operation(NUMERICS[chip], *scalars, **own | options)


# Packer and unpacker.


@OF_CHIP
@answers("{chip}_pack_unpack", whole="p_l1_after")
def test_pack(archive, chip):
    for config, dst, before, after in archive.rows("p_cfg", "p_dst", "p_l1_before", "p_l1_after"):
        read32, mid, out, relu, threshold, accumulate, unsigned, *further = config.tolist()
        options = {"dst32": bool(read32), "relu": relu, "relu_threshold": threshold, "unsigned": bool(unsigned)}
        options |= {name: bool(flag) for name, flag in zip(("round_10b", "e4m3"), further, strict=False)}
        expected = before.astype("<u4").view(np.uint8)
        l1 = expected.copy() if accumulate else None
        got = tensix.pack(dst, Format(mid), Format(out), l1=l1, chip=CHIPS[chip], **options)
        # On Blackhole the exponent section of FP8 and INT8 has 16 bytes, which nothing writes.
        start = 16 if further and out in (Format.FP8, Format.INT8) else 0
        expected[start : start + len(got)] = got
        yield after, expected.view("<u4")


@OF_CHIP
@answers("{chip}_pack_unpack", whole="u_src")
def test_unpack(archive, chip):
    for config, l1, expected in archive.rows("u_cfg", "u_l1", "u_src"):
        source, target, unsigned, *further = config.tolist()
        e4m3, unpacker, transposed, forced, exponent = further or (0, 0, 0, 0, 0)
        control = tensix.UnpackControl(
            in_format=source,
            out_format=target,
            unsigned=bool(unsigned),
            e4m3=bool(e4m3),
            forced_exponent=exponent if forced else None,
            transpose=bool(transposed and unpacker == 0),
        )
        found = [tensix.unpack_tile(l1, control, chip=CHIPS[chip]).reshape(-1)]
        if not further:
            found.append(tensix.unpack(l1, source, target, unsigned=bool(unsigned)))
        yield expected, *found


@answers("tensix_bh_pack_unpack", whole="d_dst")
def test_unpack_to_dst(archive):
    for config, l1, expected in archive.rows("d_cfg", "d_l1", "d_dst"):
        yield expected, tensix.unpack_to_dst(l1, *config.tolist(), chip="blackhole")


@answers("tensix_bh_pack_unpack")
def test_unpack_in_tilise_mode(archive):
    for config, l1, expected in archive.rows("t_cfg", "t_l1", "t_src"):
        source, target, e4m3, stride, datums = config.tolist()
        control = tensix.UnpackControl(in_format=source, out_format=target, e4m3=bool(e4m3), row_stride=stride)
        got = tensix.unpack_tile(l1, control, count=datums, chip="blackhole").reshape(-1)
        yield expected[:datums], got


# Expanders and counters.

IN_CONTROL = pytest.mark.parametrize("chip", ["wh", "bh"])
ADC_STEPS = {
    "SETADC": setadc,
    "SETADCXX": setadcxx,
    **dict.fromkeys(("SETADCXY", "SETADCZW"), set_four),
    **dict.fromkeys(("INCADCXY", "INCADCZW"), add_four),
    **dict.fromkeys(("ADDRCRXY", "ADDRCRZW"), add_cr_four),
}


@IN_CONTROL
@answers("tensix_bh_control")
def test_expanders(archive, chip):
    own = archive.part(f"{chip}_x_")
    words, expected, starts, ends = (own[name].tolist() for name in ("in", "out", "in_offset", "out_offset"))
    for case, config in enumerate(own["mop_cfg"].tolist()):
        mop, replay = MopExpander(config), ReplayExpander()
        out = [
            each
            for word in words[starts[case] : starts[case + 1]]
            for middle in mop.feed(word)
            for each in replay.feed(middle)
        ]
        yield expected[ends[case] : ends[case + 1]], [word for word in out if word != encode("NOP")]
    assert ends[case + 1] == len(expected)


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


@IN_CONTROL
@answers("tensix_bh_control")
def test_rwcs(archive, chip):
    for (ab, dst, bias), words, states in archive.part(f"{chip}_r_").lists("addr_mods", "in", "state"):
        modifiers = [Modifier(ab=ab[i], dst=dst[i], bias=bias[i]) for i in range(MODIFIERS)]
        rwc = Rwc()
        for word, state in zip(words, states, strict=True):
            rwc = rwc_after(rwc, word, modifiers, CHIPS[chip])
            counters = (rwc.src_a, rwc.src_a_cr, rwc.src_b, rwc.src_b_cr, rwc.dst, rwc.dst_cr)
            yield state, [*counters, rwc.fidelity_phase, rwc.extra_bit]


def adc_numbers(adc: Adc) -> list[int]:
    names = [*DIMENSIONS, *(f"{each}_cr" for each in DIMENSIONS)]
    values = {name: [getattr(each, name) for each in (adc.channel_0, adc.channel_1)] for name in names}
    own, carries = names[: len(DIMENSIONS)], names[len(DIMENSIONS) :]
    return [values[name][channel] for part in (own, carries) for channel in range(2) for name in part]


@IN_CONTROL
@answers("tensix_bh_control")
def test_adcs(archive, chip):
    for words, states in archive.part(f"{chip}_a_").lists("in", "state"):
        adcs = Adcs()
        for word, state in zip(words, states, strict=True):
            instruction = decode(word, chip=CHIPS[chip])
            fields = dict(instruction.fields)
            units = fields.pop("units")
            adcs = adcs.updated(units, partial(ADC_STEPS[instruction.name], **fields))
            yield state, [adc_numbers(adcs.unit(unit)) for unit in range(3)]
