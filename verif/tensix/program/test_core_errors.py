"""Every sentence with which the core refuses a program, and the cases that the vendor's documents call undefined."""

import pickle
import re
from collections import Counter
from random import Random

import numpy as np
import pytest

from bitpath.golden import tensix
from bitpath.golden.tensix.core.programs import MATH, PACK, UNPACK
from bitpath.golden.tensix.declarations.encodings import ENCODINGS, OPCODE_LOW
from bitpath.golden.tensix.declarations.formats import DST16_BF16, Chip
from bitpath.golden.tensix.isa import decode, encode
from bitpath.rtl.tensix.faults import Fault
from bitpath.verif.tensix.program.golden_core import fault_of
from bitpath.verif.tensix.program.programs import configure, execute, loaded

UndefinedBehavior = tensix.UndefinedBehavior


def running(thread, text, *, chip="wormhole", formats=(5, 5), unit=0, l1_bytes=4096, **fields):
    """Configure a core whose Matrix unit owns its banks, and run a program on one thread."""
    core = loaded(chip, formats=formats, l1_bytes=l1_bytes)
    core.state.dst.write(0, np.zeros((8, 16), np.uint32), DST16_BF16)
    for name, value in fields.items():
        configure(core, thread, unit, **{name: value})
    return execute(core, thread, text)


def unstamped():
    """Return a Blackhole core whose bank of SrcA implies no format."""
    core = loaded("blackhole")
    core.state.src_a.formats = [None, None]
    return core


def unpacking(text="UNPACR multi_context=1", **fields):
    """Run an UNPACR of 16 BF16 datums from 0x100 to SrcA."""
    given = {
        "l1_format": 5,
        "unpack_out_format": 5,
        "uncompressed": 1,
        "descriptor_uncompressed": 1,
        "base_address": 15,
    }
    given |= {"x_dim": 16, "y_dim": 4, "context_x_dim": 16, "dst_address": 64, "override_with_address": 1}
    return running(UNPACK, f"SETADCXX units=7, end=15\n{text}", **given | fields)


def packing(text="PACR packers=1", **fields):
    """Run a PACR of 16 BF16 datums to 0x100."""
    given = {"dst_format": 5, "pack_in_format": 5, "pack_out_format": 5, "pack_uncompressed": 1, "pack_address": 15}
    return running(PACK, f"SETADCXX units=7, end=15\n{text}", **given | {"edge_mask": 0xFFFF} | fields)


UNDEFINED = [
    (lambda: running(MATH, "WRCFG register=188"), "the configuration register must be 0 to 187, not 188"),
    (lambda: running(MATH, "SETC16 register=57"), "the thread register must be 0 to 56, not 57"),
    (lambda: running(MATH, "SETC16 register=68", chip="blackhole"), "the thread register must be 0 to 67, not 68"),
    (
        lambda: unpacking("UNPACR unpacker=1, context=2, multi_context=1"),
        "the context must be 0 to 1 on unpacker 1, not 2",
    ),
    (
        lambda: unpacking(l1_format=0, unpack_out_format=0),
        "the unpacker's output format must be one that SrcA and SrcB hold, not FP32",
    ),
    (
        lambda: running(MATH, "MOVA2D low_half=1", chip="blackhole", fp32_enabled=1),
        "low_half must be 0 in MOVA2D with Fp32_enabled, not 1",
    ),
    (lambda: running(MATH, "BITWOPDMAREG operation=3"), "operation must be 0 to 2 in BITWOPDMAREG, not 3"),
    (lambda: running(MATH, "REG2FLOP size=1, index=100"), "index must be 0 to 99 in REG2FLOP, not 100"),
    (lambda: running(MATH, "RDCFG register=188"), "the configuration register must be 0 to 187, not 188"),
    (
        lambda: running(MATH, "SETDMAREG half_register=1, value_low=16\nLOADIND"),
        "LOADIND must address L1, 4096 bytes, not 16777216",
    ),
    (lambda: running(MATH, "SEMWAIT block=2"), "while_zero or at_maximum must be 1 in SEMWAIT, not both 0"),
    (lambda: running(MATH, "MVMUL", formats=(12, 5)), "src_a_format must be the code of a format, not 12"),
    (
        lambda: execute(unstamped(), MATH, "MVMUL"),
        "src_a_format must be implied by the bank, which an UNPACR or UNPACR_NOP must have given",
    ),
    (
        lambda: running(MATH, "SETDVALID sources=1\nCLEARDVALID flip=1\nMVMUL", chip="blackhole"),
        "src_a_format must be implied by the bank, which an UNPACR or UNPACR_NOP must have given",
    ),
    (lambda: running(MATH, "MOVD2A low_half=1"), "Fp32_enabled must be 1 in MOVD2A with low_half, not 0"),
    (lambda: running(MATH, "MOVD2B", formats=(4, 4)), "Fp32_enabled must be 1 in MOVD2B with TF32, not 0"),
    (lambda: unpacking("UNPACR multi_context=1, adc=3"), "adc must be 0 to 2 in UNPACR, not 3"),
    (lambda: unpacking(l1_format=13), "the tile descriptor's format must be the code of a format, not 13"),
    (lambda: unpacking(unpack_out_format=12), "the unpacker's output format must be the code of a format, not 12"),
    (
        lambda: unpacking(unpack_to_dst=1, transpose=1),
        "to_dst must be False with transpose True and col_shift 0, not True",
    ),
    (lambda: unpacking(base_address=254), "UNPACR must read from L1, 4096 bytes, not to address 4112"),
    (
        lambda: unpacking("SETADCXY units=2, ch1_y=1, which=8\nUNPACR unpacker=1", unit=1, unpack_y_stride=3),
        "the output address must be a multiple of 2 bytes with BF16, not 3",
    ),
    (
        lambda: unpacking(override_with_address=0, dst_address=64 + 16 * 16),
        "SRCA_SET_SetOvrdWithAddr must be 1 for rows",
    ),
    (lambda: packing("PACR packers=5"), "packers must be 0, 1, 2, 4, 8, 3, 12 or 15 in PACR, not 5"),
    (lambda: packing(dst_format=0), "Dst's format must be the packer's, BF16, not 0"),
    (lambda: packing(pack_in_format=13), "the packer's input format must be the code of a format, not 13"),
    (lambda: packing(relu_mode=2, relu_threshold=0x8000), "the ReLU threshold must not be negative, not 0x8000"),
    (lambda: packing(pack_address=255), "PACR must write to L1, 4096 bytes, not to address 4128"),
    (
        lambda: packing("SETADCXY units=4, ch0_y=2, which=2\nPACR packers=7", chip="blackhole", packer_y_stride=32),
        "packers must stay within four Dst rows from row 2 on, not be 0b0111",
    ),
]
VALUES = [
    (
        lambda: running(MATH, "ZEROACC mode=3, revert=1", chip="blackhole"),
        "revert must be 0 in ZEROACC: golden does not model it; not 1",
    ),
    (lambda: tensix.Core("quasar"), "chip must be 'wormhole' or 'blackhole', not 'quasar'"),
    (lambda: tensix.Core(l1_bytes=0), "l1_bytes must be 1 to 4294967295, not 0"),
    (lambda: tensix.Core().push(3, []), "thread must be 0 to 2, not 3"),
    (lambda: tensix.Core().push(0, [0x02000000, 0xFF000000]), "words[1] of thread 0: word must have the opcode"),
    (lambda: tensix.Core().push(0, [0x02000004]), "words[0] of thread 0: word must be 0 in bits of no field of NOP"),
    (lambda: tensix.Core().push(0, [0x01000000]), "words[0] of thread 0: word must have the opcode"),
    (lambda: tensix.Core().mop_config(0, [0] * 8), "config must have 9 elements, not 8"),
    (lambda: tensix.Core().run("sorted"), "order must be 'round_robin', 'thread_first' or 'last_thread_first', not"),
    (
        lambda: running(MATH, "SETC16 register=6, value=4"),
        "thread register 6 must be 0 in the bits that golden does not",
    ),
    (
        lambda: running(MATH, "SETDMAREG value_low=1\nWRCFG register=4"),
        "configuration register 4 must be 0 in the bits that golden does not model, 0x1, not 0x1",
    ),
    (
        lambda: running(MATH, "MVMUL", zero_flag_disabled_src=1),
        "thread 1, MVMUL: Zero_Flag_disabled_src must be 0: golden does not model denormals of SrcB here",
    ),
    (lambda: running(MATH, "ELWADD", fidelity_base=2), "the fidelity phase must be 0 in ELWADD, not 2"),
    (lambda: running(MATH, "MVMUL", formats=(5, 1)), "srcb_format must be FP32, TF32, BF16, BFP8,"),
    (lambda: running(MATH, "SETRWC which=1, src_a=8\nMVMUL"), "src_a_row must be a multiple of 16, not 8"),
    (lambda: running(MATH, "MOVA2D mode=1"), "mode must be 0 or 2 in MOVA2D, not 1"),
    (lambda: running(MATH, "MOVA2D low_half=1", formats=(4, 4)), "low_half must be False with TF32, not True"),
    (lambda: running(0, "UNPACR_NOP what=3"), "what must be 1, 2, 5 or 7 in UNPACR_NOP, not 3"),
    (lambda: running(0, "UNPACR_NOP unpacker=1, what=5"), "unpacker must be 0 in an UNPACR_NOP that clears to minus"),
    (
        lambda: running(0, "UNPACR_NOP pop=3", chip="blackhole"),
        "pop must be 1 or 2, value 0 or 1 and bank 0 in UNPACR_NOP, not as in UNPACR_NOP pop=3",
    ),
    (lambda: unpacking("UNPACR row_search=1"), "row_search must be 0 in UNPACR: golden does not model it; not 1"),
    (lambda: unpacking(uncompressed=0), "unpacker 0 must be configured for uncompressed data: golden models no other"),
    (
        lambda: unpacking("UNPACR unpacker=1, multi_context=1", unit=1, tilise=1),
        "tilise mode must be off on unpacker 1: golden models it on unpacker 0 alone",
    ),
    (
        lambda: unpacking("SETADCXX units=1, start=5, end=3\nUNPACR multi_context=1"),
        "X of channel 1 must not be below X of channel 0 in UNPACR, not -2 from it",
    ),
    (lambda: unpacking(dst_address=48), "the output address must be a multiple of 16 from 64 on, not 48"),
    (lambda: unpacking(dst_address=80, transpose=1), "the first row must be a multiple of 16 with transpose, not 1"),
    (lambda: unpacking(unpack_to_dst=1), "SRCA_SET_SetOvrdWithAddr must be 0 with Dst: golden does not model it"),
    (lambda: unpacking(unpack_out_format=1), "out_format must be BF16 from BF16, not FP16"),
    (
        lambda: packing("PACR packers=1, override_thread=1", chip="blackhole"),
        "override_thread must be 0 in PACR of blackhole: golden does not model it; not 1",
    ),
    (lambda: packing("PACR strided=1", chip="blackhole"), "strided must be 0 in PACR: golden does not model it; not 1"),
    (lambda: packing(pack_uncompressed=0), "packer 0 must be configured without compression: golden models no other"),
    (
        lambda: packing("SETADCXX units=4, start=5, end=3\nPACR packers=1"),
        "X of channel 1 must not be below X of channel 0 in PACR, not -2 from it",
    ),
    (
        lambda: packing("SETADCXX units=4, end=16\nPACR packers=1", chip="blackhole"),
        "PACR must take datums of one row from column 0 on, not 17",
    ),
    (lambda: packing(pack_out_format=8), "out_format must be FP32, TF32, BF16,"),
]


def test_undefined_behavior(subtests):
    for call, says in UNDEFINED:
        with subtests.test(says), pytest.raises(UndefinedBehavior, match=re.escape(says)):
            call()


def test_wrong_values(subtests):
    for call, says in VALUES:
        with subtests.test(says):
            with pytest.raises(ValueError, match=re.escape(says)) as raised:
                call()
            assert not isinstance(raised.value, UndefinedBehavior)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (
            lambda: tensix.Core(numerics="wormhole"),
            "numerics must be a TensixNumerics (preset.numerics), not 'wormhole'",
        ),
        (lambda: tensix.Core(l1_bytes=1.5), "l1_bytes must be an integer, not 1.5"),
        (lambda: tensix.Core().push(0, 0x02000000), "words must be a sequence of integers, not 33554432"),
        (lambda: tensix.Core().push("0", []), "thread must be an integer, not '0'"),
    ],
)
def test_wrong_types(call, says):
    with pytest.raises(TypeError, match=re.escape(says)):
        call()


def test_an_error_names_the_thread_and_the_instruction():
    with pytest.raises(UndefinedBehavior, match=r"^thread 2, PACR packers=5: packers must be 0, 1,"):
        packing("PACR packers=5")


def test_a_burst_that_would_pass_the_last_row_of_src_a_is_undefined():
    says = "UNPACR must end at row 63 of SrcA, not pass it from row 63"
    with pytest.raises(UndefinedBehavior, match=says):
        unpacking("SETADCXX units=1, end=31\nUNPACR multi_context=1", dst_address=64 + 63 * 16)
    assert unpacking(dst_address=64 + 127 * 16).waiting == (None, None, None)


def test_a_refused_pacr_of_two_packers_writes_nothing():
    """Packer 1 would pass the end of L1; packer 0 would not."""
    core = loaded("wormhole", formats=(5, 5), l1_bytes=4096)
    core.l1[:] = 0xEE
    configure(core, PACK, dst_format=5, edge_mask=0xFFFF)
    for unit, address in enumerate((15, 4096 // 16 - 1)):
        configure(core, PACK, unit, pack_in_format=5, pack_out_format=5, pack_uncompressed=1, pack_address=address)
    core.state.dst.write(0, np.zeros((16, 16), np.uint32), DST16_BF16)
    with pytest.raises(UndefinedBehavior, match="PACR must write to L1, 4096 bytes, not to address 4128"):
        execute(core, PACK, "SETADCXX units=4, end=15\nPACR packers=3")
    assert (core.l1 == 0xEE).all()
    assert [(each.data, each.exponents) for each in core.state.packers[:2]] == [(None, None)] * 2
    execute(core, PACK, "PACR packers=1")
    assert (core.l1[0x100:0x120] == 0).all()


def test_a_refused_wrcfg_of_four_registers_writes_none():
    core = loaded("wormhole", formats=(5, 5))
    before = [list(bank) for bank in core.config.registers]
    core.state.gprs[PACK][:4] = [0, 0, 0, 0xFFFFFFFF]
    register = next(
        number for number in range(0, 180, 4) if not any(_accepts(core, number + each, 0xFFFFFFFF) for each in range(4))
    )
    with pytest.raises(ValueError, match=f"configuration register {register + 3} must be 0 in the bits"):
        execute(core, PACK, f"WRCFG wide=1, register={register}")
    assert core.config.registers == before


def _accepts(core, register, value):
    try:
        core.config.check(register, value)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("chip", ["wormhole", "blackhole"])
def test_a_refused_instruction_leaves_no_trace(chip):
    """Random words outside of a core's instructions: the state stays, and the next word works.

    An SFPLOADMACRO is left out: what it schedules may be refused cycles later, behind its own load.
    """
    rng, refused = Random(2026), Counter()
    core = loaded(chip, l1_bytes=1 << 16)
    for _ in range(1500):
        before = pickle.dumps(core.state)
        word = _any_word(chip, rng)
        fault = fault_of(Chip(chip), core, MATH, word)
        if fault in (Fault.REGISTER, Fault.STATE):
            refused[decode(word, chip=chip).name] += 1
            assert pickle.dumps(core.state) == before, decode(word, chip=chip)
        if fault is not Fault.NONE:
            core.state.waits = [None] * 3
    assert len(refused) >= 8, refused
    assert fault_of(Chip(chip), core, MATH, encode("SETRWC", chip=chip, which=15)) is Fault.NONE


def _any_word(chip, rng):
    encoding = rng.choice(ENCODINGS[Chip(chip)])
    names = {"MOP", "MOP_CFG", "REPLAY", "SFPLOADMACRO"}
    while encoding.name in names:
        encoding = rng.choice(ENCODINGS[Chip(chip)])
    return encoding.opcode << OPCODE_LOW | rng.getrandbits(OPCODE_LOW) & encoding.used_bits
