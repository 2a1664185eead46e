"""``bitpath oracle`` and ``bitpath asm``: results, words and files that they refuse."""

import json
from pathlib import Path

import numpy as np
import pytest

from bitpath.golden.tensix import llk

# ``bitpath asm``: text to words and back, and files that it refuses.


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


COMPILED = """\t.text
first:
\tSFPLOAD\tL0, 0, 0, 3
\tret
second: SFPSTORE 2, L0, 0, 3 // a row of columns
\tli\ta5,3
\tret
"""


def test_a_function_of_compiled_text(bitpath, program):
    name = program(COMPILED, "ckernel.S")
    assert bitpath("asm", "tensix", name, "--function", "first") == (0, "0x7000c000\n", "")
    refusal = "line 6: the instruction must be one of Tensix, not RISC-V's li a5,3"
    for more in ((), ("--function", "second")):
        assert bitpath("asm", "tensix", name, *more) == (2, "", f"bitpath: ckernel.S: {refusal}\n")
    status, _, err = bitpath("asm", "tensix", name, "--function", "frist")
    assert (status, "did you mean 'first'?" in err) == (2, True)
    status, _, err = bitpath("asm", "tensix", name, "--function", "first", "--disassemble")
    assert (status, "leave out --disassemble" in err) == (2, True)


def test_words_in_the_compilers_form(bitpath, program):
    shown = bitpath("asm", "tensix", program("7000c000\n26008000"), "--disassemble", "--style", "gnu")
    assert shown == (0, "SFPLOAD L0, 0, 0, 3\n.ttinsn 0x26008000\n", "")


@pytest.mark.parametrize(
    ("text", "more", "says"),
    [
        ("NOP\nMVMULL", (), "line 2: name must be one of"),
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


CASE = {
    "op": "matmul",
    "fidelity": "HiFi2",
    "in_a": "Float16_b",
    "in_b": "Float16_b",
    "register_format": "Float16_b",
    "mid_format": "Float16_b",
    "out_format": "Bfp8_b",
}
FILES = {"l1_a": "tiles/a.bin", "l1_b": "tiles/b.bin"}


@pytest.fixture
def operands():
    """Two tiles of BF16, between 1 and 2 and of both signs."""
    rng = np.random.default_rng(1354)
    return [(rng.integers(0x3F80, 0x4000, 1024) | rng.integers(0, 2, 1024) << 15).astype("<u2") for _ in "ab"]


@pytest.fixture
def files(tmp_path, operands):
    """Write the operands beside a case's file, and golden's results in HiFi2 and in LoFi."""
    folder = tmp_path / "cases"
    for name, tile in zip(FILES.values(), operands, strict=True):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(tile.tobytes())
    for fidelity in ("HiFi2", "LoFi"):
        case = llk.Case(**CASE | {"fidelity": fidelity})
        right = llk.expected(case, *(each.view(np.uint8) for each in operands)).l1
        (tmp_path / f"{fidelity}.bin").write_bytes(right.tobytes())
    return folder


@pytest.fixture
def write(files):
    """Write a case's file and return its name."""

    def case(values):
        (files / "case.json").write_text(values if isinstance(values, str) else json.dumps(values))
        return "cases/case.json"

    return case


def test_an_equal_result(bitpath, write):
    name = write(CASE | FILES)
    assert bitpath("oracle", name, "--device", "HiFi2.bin") == (0, "equal: 1,024 datums\n", "")
    assert bitpath("oracle", name, "--device", "HiFi2.bin", "--quiet") == (0, "", "")
    record = json.loads(bitpath("oracle", name, "--device", "HiFi2.bin", "--json")[1])
    assert record == {
        "equal": True,
        "first_difference": None,
        "stage": None,
        "causes": [],
        "ulp": 0,
        "histogram": {"0": 1024},
    }


def test_a_device_that_ignores_the_fidelity_phase(bitpath, write):
    name = write(CASE | FILES)
    status, out, err = bitpath("oracle", name, "--device", "LoFi.bin")
    assert (status, err) == (1, "")
    first, place, stage, *causes = out.splitlines()
    assert first.startswith("different: at most ")
    assert place.startswith("first difference: row 0, column ")
    assert stage == "stage: phase"
    assert "  phases (0,) in place of (0, 1)" in causes
    status, out, err = bitpath("oracle", name, "--device", "LoFi.bin", "--json")
    record = json.loads(out)
    assert (status, record["equal"], record["stage"]) == (1, False, "phase")
    assert sum(record["histogram"].values()) == 1024
    assert err.startswith("different: ")


def test_golden_s_own_bytes(bitpath, write):
    assert bitpath("oracle", write(CASE | FILES), "--write-expected", "golden.bin") == (0, "", "")
    assert Path("golden.bin").read_bytes() == Path("HiFi2.bin").read_bytes()


def test_a_result_that_is_added(bitpath, write, operands):
    """The bytes before are a file too; a device that overwrites them is named."""
    adding = CASE | FILES | {"out_format": "Float16_b", "l1_accumulate": True, "l1_before": "tiles/a.bin"}
    assert bitpath("oracle", write(adding), "--write-expected", "golden.bin") == (0, "", "")
    case = llk.Case(**CASE | {"out_format": "Float16_b", "l1_accumulate": True})
    tiles = [each.view(np.uint8) for each in operands]
    assert Path("golden.bin").read_bytes() == llk.expected(case, *tiles, l1_before=tiles[0]).l1.tobytes()
    Path("alone.bin").write_bytes(llk.expected(llk.Case(**CASE | {"out_format": "Float16_b"}), *tiles).l1.tobytes())
    status, out, _ = bitpath("oracle", "cases/case.json", "--device", "alone.bin")
    assert (status, out.splitlines()[2:4]) == (1, ["stage: l1", "  the result replaces what was in L1"])


def test_the_packers_random_bits(bitpath, write, operands):
    bits = np.random.default_rng(23).integers(0, 1 << 23, 1024, np.uint32)
    Path("bits.bin").write_bytes(bits.astype("<u4").tobytes())
    fields = CASE | {"out_format": "Float16_b", "dst32": True, "stochastic_rounding": "Pack"}
    assert bitpath(
        "oracle", write(fields | FILES | {"pack_bits": "../bits.bin"}), "--write-expected", "golden.bin"
    ) == (0, "", "")
    tiles = [each.view(np.uint8) for each in operands]
    assert Path("golden.bin").read_bytes() == llk.expected(llk.Case(**fields), *tiles, pack_bits=bits).l1.tobytes()


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ("{", "cases/case.json is not JSON: "),
        ([], "cases/case.json must hold a JSON object"),
        (CASE, "cases/case.json: l1_a, l1_b of two operands, l1_before of l1_accumulate and pack_bits of"),
        (CASE | {"l1_a": "tiles/a.bin"}, "cases/case.json: l1_b must be given with op matmul"),
        (
            CASE | FILES | {"fidelity": "HiFi5"},
            "cases/case.json: fidelity must be 'LoFi', 'HiFi2', 'HiFi3' or 'HiFi4', not 'HiFi5'; did",
        ),
        (
            CASE | FILES | {"out_format": "Float16_b", "l1_accumulate": True},
            "cases/case.json: l1_before must be given with l1_accumulate",
        ),
        (
            CASE | FILES | {"l1_before": "tiles/a.bin"},
            "cases/case.json: l1_before must be left out without l1_accumulate",
        ),
        (
            CASE | FILES | {"stochastic_rounding": "Pack"},
            "cases/case.json: pack_bits must be given, as 32-bit words, with stochastic_rounding",
        ),
        (CASE | FILES | {"dimensions_a": [64, 32]}, "cases/case.json: l1_a must have 4096 bytes, not 2048"),
        (CASE | FILES | {"out_format": "Bfp4_b"}, "cases/case.json: device_l1 must have 576 bytes, not 1088"),
    ],
)
def test_a_mistake_is_one_sentence(bitpath, write, values, says):
    status, out, err = bitpath("oracle", write(values), "--device", "HiFi2.bin")
    assert (status, out) == (2, "")
    assert err.startswith(f"bitpath: {says}")
    assert err.count("\n") == 1


def test_missing_files(bitpath, write):
    status, _, err = bitpath("oracle", write(CASE | FILES | {"l1_a": "none.bin"}), "--device", "HiFi2.bin")
    assert status == 2
    assert "none.bin" in err
    assert bitpath("oracle", write(CASE | FILES))[::2] == (2, "bitpath: --device or --write-expected must be given\n")
