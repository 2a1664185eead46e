"""``bitpath tensix run`` and the ELF files that it reads."""

import json
import struct
from random import Random

import pytest

from bitpath.golden.arrays.files import FileError
from bitpath.golden.tensix import isa
from bitpath.golden.tensix.riscv import Program, read_elf
from bitpath.verif.kit.riscv import BASE, RET, elf, immediate, load_immediate, packed, store, ttinsn

RELAY = [*load_immediate(5, 0x8000), immediate(0x03, 2, 6, 5, 0), store(2, 5, 6, 4), ttinsn(isa.encode("SETRWC")), RET]
"""Copies a word from 0x8000 to 0x8004, and pushes an instruction."""


@pytest.fixture
def kernels(tmp_path):
    """Write a kernel for each thread, with its code at addresses of its own, and return the names."""
    names = []
    for thread, words in enumerate((RELAY, [RET], [ttinsn(isa.encode("NOP")), RET])):
        (tmp_path / f"t{thread}.elf").write_bytes(elf(packed(words), BASE + 0x100 * thread))
        names.append(f"t{thread}.elf")
    (tmp_path / "word.bin").write_bytes(bytes.fromhex("78563412"))
    return names


def test_three_kernels(bitpath, kernels):
    more = ("--l1", "word.bin@0x8000", "--dump", "0x8000:20", "--dump", "4096:4")
    status, out, err = bitpath("tensix", "run", *kernels, *more)
    assert (status, err) == (0, "")
    assert out.splitlines() == [
        "| core | RISC-V instructions | Tensix instructions |",
        "| --- | --- | --- |",
        "| T0 | 6 | 1 |",
        "| T1 | 1 | 0 |",
        "| T2 | 2 | 0 |",
        "",
        "0x00008000: 78 56 34 12 78 56 34 12 00 00 00 00 00 00 00 00",
        "0x00008010: 00 00 00 00",
        "0x00001000: b7 82 00 00",
    ]
    status, out, _ = bitpath("tensix", "run", *kernels, *more, "--chip", "blackhole", "--json")
    assert json.loads(out) == {
        "chip": "blackhole",
        "riscv": [6, 1, 2],
        "tensix": [1, 0, 0],
        "dumps": [
            {"address": 0x8000, "bytes": "78563412" * 2 + "00" * 12},
            {"address": 4096, "bytes": "b7820000"},
        ],
    }
    assert bitpath("tensix", "run", *kernels, "--quiet") == (0, "", "")


@pytest.mark.parametrize(
    ("more", "status", "says"),
    [
        (("t0.elf",), 2, "ELF files must be 1 to 3, not 4"),
        (("--l1", "word.bin"), 2, "--l1': must be FILE@ADDRESS, not 'word.bin'"),
        (("--l1", "word.bin@x"), 2, "must be FILE@ADDRESS, not 'word.bin@x'"),
        (("--l1", "word.bin@0x16dffe"), 2, "--l1: 4 bytes at 0x16dffe must be within L1, 0 to 0x16dfff"),
        (("--l1", "none.bin@0"), 2, "none.bin"),
        (("--dump", "0:-1"), 2, "--dump: -1 bytes at 0x0 must be within L1, 0 to 0x16dfff"),
        (("--dump", "a:4"), 2, "must be ADDRESS:BYTES, not 'a:4'"),
        (("--limit", "3"), 1, "the programs must end after at most 3 instructions; T0 is at 0x0000100c"),
    ],
)
def test_mistakes(bitpath, kernels, more, status, says):
    found, out, err = bitpath("tensix", "run", *kernels, *more)
    assert (found, out) == (status, "")
    assert says in err
    assert err.count("\n") == 1


def test_a_kernel_with_an_access_that_is_not_modelled(bitpath, tmp_path):
    (tmp_path / "debug.elf").write_bytes(elf(packed([*load_immediate(5, 0xFFB12000), immediate(0x03, 2, 6, 5, 0x1F0)])))
    status, out, err = bitpath("tensix", "run", "debug.elf")
    assert (status, out) == (2, "")
    assert err == (
        "bitpath: T0, instruction at 0x00001008: the address must be in L1, local memory or a modelled device, not "
        "0xffb121f0 (tile control, debug and status)\n"
    )


# ELF files.


def test_segments_and_zeros(tmp_path):
    file = tmp_path / "a.elf"
    content = bytearray(elf(b"abcd"))
    struct.pack_into("<I", content, 52 + 20, 7)
    file.write_bytes(content)
    assert read_elf(file) == Program(entry=BASE, segments=((BASE, b"abcd\0\0\0"),))


def test_data_that_the_startup_code_copies(tmp_path):
    """The bytes of .ldm_data, at 0xffb00000, go to .loader_init too, in L1."""
    names = b"\0.loader_init\0.ldm_data\0.shstrtab\0"
    content = bytearray(elf(b"code"))
    sections = [
        (0, 0, 0, 0, 0, 0),
        (1, 8, 3, 0x9000, 0, 0x100),
        (14, 1, 3, 0xFFB00000, len(content), 6),
        (24, 3, 0, 0, len(content) + 6, len(names)),
    ]
    place = len(content) + 6 + len(names)
    content += b"values" + names
    content += b"".join(struct.pack("<10I", *each, 0, 0, 1, 0) for each in sections)
    struct.pack_into("<I", content, 32, place)
    struct.pack_into("<HH", content, 48, len(sections), 3)
    (tmp_path / "llk.elf").write_bytes(content)
    assert read_elf(tmp_path / "llk.elf").segments == ((BASE, b"code"), (0x9000, b"values"))


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"\x7fELF", "must be an ELF file: "),
        (elf(b"abcd", machine=62), "little-endian, not EM_X86_64, ET_EXEC, 32 bits, little-endian"),
        (
            elf(b"abcd", kind=1),
            "must be a linked ELF of RISC-V, EM_RISCV, ET_EXEC, 32 bits, little-endian, not EM_RISCV, ET_REL, 32 bits, ",
        ),
        (elf(b""), "must have segments of 1 to 16777216 bytes, not 0"),
        (
            elf(b"abcd")[:72] + b"\0\0\0\x7f" + elf(b"abcd")[76:],
            "must have segments of 1 to 16777216 bytes, not 2130706432",
        ),
    ],
)
def test_files_that_are_no_kernels(tmp_path, content, says):
    (tmp_path / "bad.elf").write_bytes(content)
    with pytest.raises(FileError, match=r"bad\.elf must") as raised:
        read_elf(tmp_path / "bad.elf")
    assert says in str(raised.value)


def test_damaged_files_are_refused_or_read(tmp_path):
    rng, whole, read, refused = Random(4), elf(packed(RELAY)), 0, []
    for _ in range(300):
        content = bytearray(whole)
        for _ in range(rng.randrange(1, 4)):
            content[rng.randrange(84)] = rng.randrange(256)
        (tmp_path / "bad.elf").write_bytes(content)
        try:
            read += bool(read_elf(tmp_path / "bad.elf").segments)
        except FileError as error:
            refused.append(str(error))
    assert 10 < read < 290
    assert len(refused) == 300 - read
    assert all("bad.elf must" in each for each in refused)
