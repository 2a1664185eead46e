"""``bitpath asm``: text to words and back, and files that it refuses."""

import json

import pytest

PROGRAM = "# a product\nREPLAY count=2, load=1\nMVMUL modifier=1\n\nMVMUL flip=3, modifier=3  # the last\n"
WORDS = [0x04000021, 0x26008000, 0x26C18000]
LINES = ["REPLAY count=2, load=1", "MVMUL modifier=1", "MVMUL flip=3, modifier=3"]


@pytest.fixture
def program(tmp_path):
    """Write a file and return its name."""

    def write(text, name="product.s"):
        (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        return name

    return write


def test_instructions_become_words_and_words_instructions(bitpath, program):
    status, out, err = bitpath("asm", "tensix", program(PROGRAM))
    assert (status, err) == (0, "")
    assert out.splitlines() == [f"{word:#010x}" for word in WORDS]
    status, text, err = bitpath("asm", "tensix", program(f"{out}# the end\n", "words"), "--disassemble")
    assert (status, err) == (0, "")
    assert text.splitlines() == LINES
    assert bitpath("asm", "tensix", program(text))[1] == out


def test_a_chip_has_its_own_fields(bitpath, program):
    name = program("MVMUL modifier=5")
    assert bitpath("asm", "tensix", name, "--chip", "blackhole")[1] == "0x26014000\n"
    status, _, err = bitpath("asm", "tensix", name)
    assert (status, err) == (2, "bitpath: product.s: line 1: modifier must be 0 to 3 in MVMUL, not 5\n")


@pytest.mark.parametrize("direction", [(), ("--disassemble",)])
def test_json_has_words_and_instructions(bitpath, program, direction):
    name = program("\n".join(f"{word:x}" for word in WORDS) if direction else PROGRAM)
    record = json.loads(bitpath("asm", "tensix", name, "--json", *direction)[1])
    assert record == {"machine": "tensix", "chip": "wormhole", "words": WORDS, "instructions": LINES}
    assert bitpath("asm", "tensix", name, "--quiet", *direction) == (0, "", "")


@pytest.mark.parametrize(
    ("text", "more", "says"),
    [
        ("NOP\nMVMULL", (), "line 2: name must be 'MOP',"),
        ("NOP dst=1", (), "line 1: an argument of NOP must be no argument, as it has no fields, not dst"),
        ("MVMUL dst=", (), "line 1: dst must be a decimal or hexadecimal number, not ''"),
        ("0x02000000\nxyz", ("--disassemble",), "line 2: word must be a hexadecimal number, not 'xyz'"),
        ("02000001", ("--disassemble",), "line 1: word must be 0 in bits of no field of NOP, not 1 in 0: 0x02000001"),
        ("ff000000", ("--disassemble",), "line 1: word must have the opcode of an instruction in bits 31:24, not 0xff"),
        ("123456789", ("--disassemble",), "line 1: word must be 0 to 4294967295, not 4886718345"),
    ],
)
def test_a_line_that_is_wrong(bitpath, program, text, more, says):
    status, out, err = bitpath("asm", "tensix", program(text), *more)
    assert (status, out) == (2, "")
    assert err.startswith(f"bitpath: product.s: {says}")
    assert err.count("\n") == 1


def test_files_that_are_none(bitpath, program):
    status, _, err = bitpath("asm", "tensix", program(b"\xff\xfe"))
    assert (status, err) == (2, "bitpath: product.s must be a whole text file\n")
    status, _, err = bitpath("asm", "tensix", "missing.s")
    assert status == 2
    assert "missing.s" in err
