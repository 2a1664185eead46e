"""Encodings, assembler and disassembler: round trips, known words, and every error."""

import re

import numpy as np
import pytest

from bitpath.golden.tensix import isa
from bitpath.golden.tensix.declarations.encodings import ENCODINGS, OPCODE_LOW, OTHERS
from bitpath.golden.tensix.declarations.formats import Chip

ROUNDS = 50
CHIPS = [each.value for each in Chip]
ALL = [(chip.value, encoding) for chip, encodings in ENCODINGS.items() for encoding in encodings]
NAMES = [f"{chip}-{encoding.name}" for chip, encoding in ALL]


def random_fields(rng, encoding):
    return {each.name: int(rng.integers(1 << each.width)) for each in encoding.fields}


@pytest.mark.parametrize(("chip", "encoding"), ALL, ids=NAMES)
def test_the_fields_of_an_instruction_do_not_overlap(chip, encoding):
    bits = [bit for each in encoding.fields for bit in range(each.low, each.high + 1)]
    assert len(bits) == len(set(bits))
    assert max(bits, default=0) < OPCODE_LOW
    assert sum(each.width for each in encoding.fields) == len(bits)


def test_opcodes_and_names_are_unique():
    for chip in Chip:
        known = [*((each.opcode, each.name) for each in ENCODINGS[chip]), *OTHERS[chip].items()]
        assert len(dict(known)) == len({name for _, name in known}) == len(known)
    wormhole, blackhole = ({each.name: each.opcode for each in encodings} for encodings in ENCODINGS.values())
    assert wormhole == blackhole


@pytest.mark.parametrize(("chip", "encoding"), ALL, ids=NAMES)
def test_decode_gives_back_random_fields(chip, encoding):
    rng = np.random.default_rng(encoding.opcode)
    for _ in range(ROUNDS):
        fields = random_fields(rng, encoding)
        word = isa.encode(encoding.name, chip=chip, **fields)
        assert isa.decode(word, chip=chip) == isa.Instruction(name=encoding.name, fields=fields)
        assert word >> OPCODE_LOW == encoding.opcode


@pytest.mark.parametrize("chip", CHIPS)
def test_a_random_program_survives_its_text(chip):
    rng = np.random.default_rng(5)
    encodings = ENCODINGS[Chip(chip)]
    picked = [encodings[i] for i in rng.integers(len(encodings), size=1000)]
    words = [isa.encode(each.name, chip=chip, **random_fields(rng, each)) for each in picked]
    text = isa.disassemble(words, chip=chip)
    assert text.count("\n") == len(words)
    assert isa.assemble(text, chip=chip) == words
    assert isa.disassemble(isa.assemble(text, chip=chip), chip=chip) == text


@pytest.mark.parametrize(
    ("chip", "word", "line"),
    [
        ("wormhole", 0x26C18010, "MVMUL flip=3, modifier=3, dst=16"),
        ("blackhole", 0x26C14010, "MVMUL flip=3, modifier=5, dst=16"),
        ("wormhole", 0x10280000, "ZEROACC mode=1, dst32=1"),
        ("blackhole", 0x100C0000, "ZEROACC mode=1, dst32=1"),
        ("wormhole", 0x41018F01, "PACR modifier=3, packers=15, last=1"),
        ("blackhole", 0x4300010A, "UNPACR_NOP set_valid=1, value=2, pop=2"),
        ("wormhole", 0x43800007, "UNPACR_NOP unpacker=1, what=7"),
        ("wormhole", 0x0400C102, "REPLAY start=3, count=16, execute=1"),
        ("wormhole", 0x01810000, "MOP template=1, count_minus_1=1"),
        ("wormhole", 0xA2210080, "STALLWAIT block=66, conditions=128"),
        ("wormhole", 0xB0041FFF & ~0x1800, "WRCFG gpr=4, register=2047"),
        ("wormhole", 0x02000000, "NOP"),
    ],
)
def test_words_and_lines(chip, word, line):
    assert str(isa.decode(word, chip=chip)) == line
    assert isa.assemble(line, chip=chip) == [word]


def test_text_may_have_comments_empty_lines_and_any_order():
    text = "# a product\n\n  MVMUL dst=0x10,flip=3 , modifier=3 # the last\nNOP#\nNOP\t\n"
    assert isa.assemble(text) == [0x26C18010, 0x02000000, 0x02000000]
    assert isa.assemble("") == []
    assert isa.disassemble([]) == ""


def test_numpy_words_decode():
    assert isa.decode(np.uint32(0x26C18010))["dst"] == 16
    assert isa.disassemble(np.array([0x02000000], np.uint32)) == "NOP\n"


VALUES = [
    (lambda: isa.decode(1 << 32), "word must be 0 to 4294967295, not 4294967296"),
    (lambda: isa.decode(0xFF000000), "word must have the opcode of an instruction in bits 31:24, not 0xff"),
    (lambda: isa.decode(0), "word must have the opcode of an instruction in bits 31:24, not 0x00"),
    (lambda: isa.decode(0x70000000), "word must be a modelled instruction, not SFPLOAD of wormhole (opcode 0x70)"),
    (lambda: isa.decode(0x96000000), "word must have the opcode of an instruction in bits 31:24, not 0x96"),
    (
        lambda: isa.decode(0x96000000, chip="blackhole"),
        "word must be a modelled instruction, not SFPLE of blackhole (opcode 0x96)",
    ),
    (lambda: isa.encode("SFPMAD"), "name must be a modelled instruction, not SFPMAD of wormhole"),
    (lambda: isa.decode(0x02000001), "word must be 0 in bits of no field of NOP, not 1 in 0: 0x02000001"),
    (
        lambda: isa.decode(0x26041C10),
        "word must be 0 in bits of no field of MVMUL, not 1 in 18, 12, 11, 10: 0x26041c10",
    ),
    (lambda: isa.decode(0x26004000), "word must be 0 in bits of no field of MVMUL, not 1 in 14: 0x26004000"),
    (lambda: isa.decode(0x02000000, chip="quasar"), "chip must be 'wormhole' or 'blackhole', not 'quasar'"),
    (lambda: isa.encode("MVMULL"), "name must be 'MOP', 'NOP', 'MOP_CFG',"),
    (lambda: isa.encode("MVMULL"), "not 'MVMULL'; did you mean 'MVMUL'?"),
    (lambda: isa.encode("MVMUL", modifier=4), "modifier must be 0 to 3 in MVMUL, not 4"),
    (lambda: isa.encode("MVMUL", chip="blackhole", modifier=8), "modifier must be 0 to 7 in MVMUL, not 8"),
    (
        lambda: isa.encode("SETC16", registers=1),
        "an argument of SETC16 must be one of its fields register, value, not registers; did you mean 'register'?",
    ),
    (lambda: isa.encode("NOP", dst=0), "an argument of NOP must be no argument, as it has no fields, not dst"),
    (lambda: isa.encode("ZEROACC", revert=1), "an argument of ZEROACC must be one of its fields mode,"),
    (lambda: isa.assemble("NOP\nMVMUL dst"), "line 2: a field must be NAME=NUMBER, not 'dst'"),
    (lambda: isa.assemble("MVMUL dst=1, dst=2"), "line 1: dst must be given once in MVMUL"),
    (lambda: isa.assemble("MVMUL dst=x"), "line 1: dst must be a decimal or hexadecimal number, not 'x'"),
    (lambda: isa.assemble("MVMUL dst=-1"), "line 1: dst must be 0 to 1023 in MVMUL, not -1"),
    (lambda: isa.assemble("MVMUL chip=1"), "line 1: an argument of MVMUL must be one of its fields flip,"),
    (lambda: isa.assemble("# x\nMVMUL,"), "line 2: name must be 'MOP',"),
    (lambda: isa.disassemble([0x02000000, 0x02000001]), "words[1]: word must be 0 in bits of no field of NOP"),
]
TYPES = [
    (lambda: isa.decode("0x02000000"), "word must be an integer, not '0x02000000'"),
    (lambda: isa.encode(2), "name must be 'MOP', 'NOP',"),
    (lambda: isa.encode("MVMUL", dst=1.0), "dst must be an integer, not 1.0"),
    (lambda: isa.assemble(b"NOP"), "text must be a str, not a bytes"),
    (lambda: isa.disassemble(0x02000000), "words must be a sequence of integers, not 33554432"),
]


@pytest.mark.parametrize(("call", "says"), VALUES)
def test_wrong_values(call, says):
    with pytest.raises(ValueError, match=re.escape(says)):
        call()


@pytest.mark.parametrize(("call", "says"), TYPES)
def test_wrong_types(call, says):
    with pytest.raises(TypeError, match=re.escape(says)):
        call()


def test_known_answers_are_instructions(kat):
    """Every word that the known programs push or execute is legal, and survives its text."""
    checked = 0
    archive = kat("tensix_bh_program.npz")
    expected = sum(len(words) for name, words in archive.items() if re.fullmatch(r"(wh|bh)\d+_(t\d|trace)", name))
    for name, array in archive.items():
        if match := re.fullmatch(r"(wh|bh)\d+_(t\d|trace)", name):
            words = (array[:, 1] if match[2] == "trace" else array).tolist()
            chip = {"wh": "wormhole", "bh": "blackhole"}[match[1]]
            assert isa.assemble(isa.disassemble(words, chip=chip), chip=chip) == words
            checked += len(words)
    assert checked == expected > 0


@pytest.mark.parametrize("name", ["wh_r_in", "wh_a_in", "bh_r_in", "bh_a_in", "z_in", "m_in"])
def test_known_answers_of_counters_and_moves_are_instructions(kat, name):
    words = kat("tensix_bh_control.npz")[name].ravel().tolist()
    chip = "wormhole" if name.startswith("wh") else "blackhole"
    assert isa.assemble(isa.disassemble(words, chip=chip), chip=chip) == words
    assert words
