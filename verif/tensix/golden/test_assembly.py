"""Compiled assembly of the Vector unit: its words, its functions, the lines that are refused, and published texts."""

import os
import re
from pathlib import Path

import numpy as np
import pytest

from bitpath.golden.tensix import isa
from bitpath.golden.tensix.declarations.encodings import BY_NAME
from bitpath.golden.tensix.declarations.formats import Chip
from bitpath.golden.tensix.isa.assembly import _FORMS, _NAMES

CHIPS = [each.value for each in Chip]

KERNEL = """
	.file	"kernel.cc"
	.option nopic
	.section	.rodata
table:
	.word	7
	.text
	.align	2
	.type	_Z6kernelv, @function
_Z6kernelv:
	TTREPLAY	0, 3, 1, 1   # load and run
	SFPLOAD	L1, 2, 0, 3
 #APP
# 17 "kernel.cc" 1
	.word (1610940416)
 #NO_APP
	SFPMAD	L2, L0, L13, L14, 0
/* a comment
   of two lines */	SFPIADD	L3, L3, -1, 9
.L3:
1:	SFPSETCC	L2, 0, 6	// flags
	SFPSTOCHRND	L2, L0, L1, 12, 1, 31
	SFPSTORE	4, L2, 12, 2
	TTINCRWC	0, 2, 0, 1
	ret
	.size	_Z6kernelv, .-_Z6kernelv
last:	SFPNOP
	.ttinsn 0x26C18010
"""
FIELDS = """REPLAY count=3, execute=1, load=1
SFPLOAD vd=1, modifier=3, address=2
SFPLOADI imm=16389
SFPMAD vb=13, vc=14, vd=2
SFPIADD imm=4095, vc=3, vd=3, mod=9
SFPSETCC vc=2, mod=6
SFP_STOCH_RND rounding=1, imm=31, vc=1, vd=2, mod=12
SFPSTORE vd=2, mod=12, modifier=2, address=4
INCRWC dst=2, src_a=1
SFPNOP
MVMUL flip=3, modifier=3, dst=16
"""
"""The same program with fields by name, fields of a value other than 0 alone."""


def rotated(word):
    """Return a word as RISC-V code holds it."""
    return (word << 2 | word >> 30) & 0xFFFFFFFF


def test_compiled_text_and_fields_give_the_same_words():
    text = KERNEL.replace("1610940416", f"{rotated(isa.encode('SFPLOADI', imm=16389)) - (1 << 32)}")
    words = isa.assemble(text)
    assert isa.disassemble(words) == FIELDS
    assert isa.assemble(FIELDS) == words
    found = isa.functions(text)
    assert {name: len(own) for name, own in found.items()} == {"_Z6kernelv": 9, "last": 2}
    assert isa.assemble(text, function="last") == found["last"] == words[9:]


@pytest.mark.parametrize("chip", CHIPS)
def test_every_form_has_a_place_for_each_operand(chip):
    known = 0
    for mnemonic, form in _FORMS.items():
        encoding = BY_NAME[Chip(chip)].get(_NAMES[mnemonic])
        if encoding is None:
            assert chip == "wormhole"
            continue
        fields = {own.removeprefix("L"): number % 2 for number, own in enumerate(form) if own != "0"}
        word = isa.encode(encoding.name, chip=chip, **fields)
        line = isa.disassemble([word], chip=chip, style="gnu")
        assert line.split()[0] == mnemonic
        assert isa.assemble(line, chip=chip) == [word]
        known += 1
    assert known == {"wormhole": 39, "blackhole": 43}[chip]


@pytest.mark.parametrize("chip", CHIPS)
def test_random_words_survive_the_compilers_form(chip):
    rng = np.random.default_rng(9)
    encodings = list(BY_NAME[Chip(chip)].values())
    words = [
        isa.encode(each.name, chip=chip, **{own.name: int(rng.integers(1 << own.width)) for own in each.fields})
        for each in encodings * 20
    ]
    text = isa.disassemble(words, chip=chip, style="gnu")
    assert ".ttinsn" in text
    assert isa.assemble(text, chip=chip) == words


def test_negative_immediates_are_twos_complement():
    lines = ["SFPIADD L0, L0, -2048, 1", "SFPIADD L0, L0, 2048, 1", "SFPLOADI L0, -1, 2", "SFPLOADI L0, 65535, 2"]
    words = isa.assemble("\n".join(lines))
    assert (words[0], words[2]) == (words[1], words[3])


ERRORS = [
    ("SFPNOP\nf: addi a5,a5,-1", "line 2: the instruction must be one of Tensix, not RISC-V's addi a5,a5,-1"),
    ("f:\n.word 0x00008067", "line 2: the word must be an instruction of Tensix, not RISC-V's 0x00008067"),
    ("f: SFPNOP\nret\n.L2:\nSFPNOP", "line 4: ret must be the last instruction of a function"),
    (".word 1, 2", "line 1: .word must have one number, not 2"),
    ("SFPMAD L1, L2, L3, 0", "line 1: SFPMAD must have the operands Lvd, Lva, Lvb, Lvc, mod, not 4"),
    ("SFPMAD L1, 2, L3, L4, 0", "line 1: va must be a lane register, L0 to L15, not '2'"),
    ("SFPMAD L1, L2, L16, L4, 0", "line 1: vb must be 0 to 15 in SFPMAD, not 16"),
    ("SFPMAD L1, L2, L3, L4, x", "line 1: mod must be a decimal or hexadecimal number, not 'x'"),
    ("SFPIADD L0, L0, -2049, 1", "line 1: imm must be 0 to 4095 in SFPIADD, not -2049"),
    ("SFPLOAD L0, -1, 0, 3", "line 1: address must be 0 to 1023 in SFPLOAD, not -1"),
    ("SFPGT L0, L0, 0, 1", "line 1: name must be an instruction of wormhole, not SFPGT, which blackhole has"),
    ("SFPNOP 1", "line 1: SFPNOP must have no operands, not 1"),
    ("f: SFPNOP\ng: SFPNOP\nf: SFPNOP", "line 3: a label must be given once, not f again"),
    ("TTMVMUL 0, 0, 1, 0", "not 'TTMVMUL'; did you mean 'MVMUL'"),
]


def test_lines_that_are_refused(subtests):
    for text, says in ERRORS:
        with subtests.test(says), pytest.raises(ValueError, match=re.escape(says)):
            isa.assemble(text)
    with pytest.raises(ValueError, match="function must be 'f' or 'g', not 'h'"):
        isa.assemble("f: NOP\ng: NOP", function="h")
    with pytest.raises(ValueError, match="style must be 'fields' or 'gnu', not 'intel'"):
        isa.disassemble([], style="intel")
    with pytest.raises(ValueError, match="the operand without a field must be 0 in SFPGT, not 1"):
        isa.assemble("SFPGT L0, L0, 1, 1", chip="blackhole")
    assert isa.functions("SFPNOP\nf: ret\ng: mul a0,a0,a1\nh:\nSFPBAD\ni: NOP") == {
        "": [0x8F000000],
        "f": [],
        "i": [0x02000000],
    }


# A compiler's texts: a checkout of tenstorrent/sfpi, before a146005, that BITPATH_SFPI_DIR names.


STRAIGHT = 17
"""Functions of a chip's ckernel.S without RISC-V instructions."""


@pytest.fixture(scope="module")
def sfpi():
    folder = os.environ.get("BITPATH_SFPI_DIR")
    if folder is None:
        pytest.skip("BITPATH_SFPI_DIR is not set: no compiled texts to assemble")
    return Path(folder)


@pytest.mark.parametrize(("chip", "prefix"), [("wormhole", "wh_"), ("blackhole", "bh_")])
def test_published_sfpu_texts_known_answers(kat, sfpi, chip, prefix):
    archive = kat("sfpu_compiled").part(prefix)
    streams = np.split(archive["word"], archive["offset"][1:-1])
    known = {tuple(stream.tolist()) for stream in streams}
    texts = sorted((sfpi / f"tests/{chip}/sfpi/gold").glob("*.S"))
    found = isa.functions((sfpi / f"tests/{chip}/sfpi/gold/ckernel.S").read_text(), chip=chip)
    assert len(found) == STRAIGHT
    for name, words in found.items():
        replay = isa.ReplayExpander()
        assert tuple(each for word in words for each in replay.feed(word)) in known, name
    compared = 0
    for text in texts:
        for words in isa.functions(text.read_text(), chip=chip).values():
            assert isa.assemble(isa.disassemble(words, chip=chip, style="gnu"), chip=chip) == words
            compared += len(words)
    assert compared > 2000
