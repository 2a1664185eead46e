"""Signals are shown as numbers; a build with waves adds wires for them."""

import re
import subprocess
from random import Random

import pytest

from bitpath.golden.aie_ml_v2.declarations.modes import FLOAT8_FORMATS, FLOAT16_FORMATS
from bitpath.golden.formats.catalogue import BF16, CATALOGUE, E2M1, E4M3, E4M3FN, E5M2, E8M0, FP16, FP32
from bitpath.golden.tensix.declarations.formats import Format, Style
from bitpath.rtl.aie_ml_v2.mac.config import MacMode
from bitpath.rtl.tensix.dot.layouts import StyleCode
from bitpath.sim.engine import tracing
from bitpath.sim.engine.numbers import rule_of, single
from bitpath.sim.study.waves import Filters, formats_of, group_of
from bitpath.verif.kit.values import Integer, number_text


@pytest.mark.parametrize(
    ("fmt", "code", "number"),
    [
        (E4M3FN, 0x7E, "448"),
        (E4M3FN, 0x7F, "NaN"),
        (E5M2, 0xFC, "-inf"),
        (E2M1, 0x9, "-0.5"),
        (E8M0, 0x00, "2^-127"),
        (E8M0, 0xFE, "2^127"),
    ],
)
def test_filter_files_say_the_number(tmp_path, fmt, code, number):
    lines = (tmp_path / Filters(tmp_path).file(single(fmt), fmt.width)).read_text().splitlines()
    assert len(lines) == 1 << fmt.width
    assert lines[code] == f"{code:0{-(-fmt.width // 4)}x} {number}"


@pytest.mark.parametrize("fmt", [fmt for fmt in CATALOGUE.values() if fmt.width <= 16], ids=lambda fmt: fmt.name)
def test_the_filter_says_what_reports_say(fmt):
    shown = single(fmt)
    codes = range(1 << fmt.width) if fmt.width <= 8 else range(0, 1 << fmt.width, 7)
    assert [shown.text(code) for code in codes] == [number_text(fmt, code) for code in codes]


@pytest.mark.parametrize(
    ("fmt", "asked", "answered"),
    [(FP32, "3f800000\n7fc00000\nx\n80000000\n", ["1", "NaN", "x", "-0"]), (BF16, "c0a0\n", ["-5"])],
)
def test_filter_processes_answer_each_line_without_bitpath(tmp_path, fmt, asked, answered):
    program = tmp_path / Filters(tmp_path).process(single(fmt))
    moved = (tmp_path / "elsewhere").absolute()
    moved.mkdir()
    for file in (program, program.with_name("filter.py")):
        file.rename(moved / file.name)
    done = subprocess.run(
        [moved / program.name],
        cwd="/",
        env={"PATH": "/usr/bin:/bin"},
        input=asked,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() in (answered, asked.split())
    done = subprocess.run([moved / program.name], input=asked, capture_output=True, text=True, check=True)
    assert done.stdout.split() == answered


def test_without_python_a_filter_process_returns_the_codes(tmp_path):
    program = tmp_path / Filters(tmp_path).process(single(FP32))
    done = subprocess.run(
        [program],
        env={"PATH": str(_only(tmp_path, "cat"))},
        input="3f800000\n",
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "3f800000\n"


def _only(folder, name):
    """Return a folder with one program."""
    (folder / "bin").mkdir()
    (folder / "bin" / name).symlink_to(f"/bin/{name}")
    return folder / "bin"


def test_tables_name_formats_and_groups():
    assert group_of("quad_mx_pe", "dot.terms.fixed_0.o") == "align"
    assert group_of("quad_mx_pe", "dot.total.o") == "sum"
    assert group_of("quad_mx_pe", "dot.fine.o") == "normalize"
    assert group_of("quad_mx_pe", "dot.multiply_3.a") == "products"
    assert group_of("quad_mx_pe", "nosuch") == "others"
    assert group_of("element_map", "o__valid") == "streams"
    assert group_of("systolic_array", "advance") == "ports and registers"
    assert formats_of("dot.i__payload.partial", 32) == (FP32,)
    assert formats_of("o__payload.codes[3]", 8) == (E4M3FN, E5M2)
    assert formats_of("o__payload.block.codes[3]", 8) == (Integer(8),)
    assert formats_of("partial_south", 16) == ()


def chosen(name, width, *selectors):
    """Return the display of a signal beside its selecting signals."""
    rule, found = rule_of(name, width, dict.fromkeys(selectors))
    assert found == selectors
    return rule.shown({"numerics": {"element_formats": ["E4M3FN", "E5M2"]}}, width)


def test_selected_formats_of_all_machines():
    """The highest bits of a value select the format of the code below, wherever it is in the word."""
    operand = chosen("moving.elements[2]", 8, "moving.format")
    assert [operand.text(choice << 8 | 0x7B) for choice in (0, 1)] == [number_text(fmt, 0x7B) for fmt in (E4M3FN, E5M2)]
    block = chosen("i__payload.elements[31]", 16, "i__payload.control.source")
    assert [block.text(choice << 16 | 0x3E00) for choice in (0, 1)] == [
        number_text(fmt, 0x3E00) for fmt in (BF16, FP16)
    ]
    mapped = chosen("word.elements", 32, "format")
    assert mapped.text(2 << 12 | 0x5 << 8 | 0x38) == number_text(E2M1, 5)
    assert mapped.text(0 << 12 | 0x5 << 8 | 0x38) == "1"
    assert mapped.text(3 << 12 | 0x538) == "538"
    lane = chosen("multiply__i.x", 128, "multiply__i.control.mode", "multiply__i.control.x_format")
    value = 0xC0A0 << 8 | 0x7B
    for index, fmt in enumerate(FLOAT8_FORMATS):
        assert lane.text((MacMode.FLOAT8.value << 3 | index) << 24 | value) == number_text(fmt, 0x7B)
    for index, fmt in enumerate(FLOAT16_FORMATS):
        assert lane.text((MacMode.FLOAT16.value << 3 | index) << 24 | value) == number_text(fmt, 0xC0A0)
    assert lane.text(MacMode.INT16.value << 27 | value) == str(0xC0A0 - 0x10000)
    decode = chosen("multiply__code", 16, "multiply__is_fp8", "multiply__format")
    assert decode.text(1 << 19 | 0x7B) == number_text(E4M3, 0x7B)
    assert decode.text(1 << 16 | 0xC0A0) == number_text(BF16, 0xC0A0)
    datum = chosen("i__payload.datums", 512, "i__payload.control.l1_format")
    word = 0x3F800000 << 30 | 0xC0A0 << 14 | 0x85 << 6 | 0xB << 2 | 0x3
    numbers = {"FP32": "1", "BF16": "-5", "INT8": "-5", "BFP4": "-3", "BFP2": "-1"}
    assert {name: datum.text(Format[name].value << 62 | word) for name in numbers} == numbers
    source = chosen("i__payload.src_a[15]", 20, "i__payload.control.style")
    for style, number in ((Style.BF16, "-1.5"), (Style.TF32, "-1.5"), (Style.INT8, "-1536")):
        code = 1 << 19 | (0 if style is Style.INT8 else 127) << 11 | 0x600
        assert source.text(StyleCode.of(style).value << 20 | code) == number
    assert source.text(StyleCode.FP16.value << 20 | 15 << 11 | 0x400) == "1"
    dst = chosen("i__payload.dst", 32, "i__payload.control.style", "i__payload.control.dst32")
    assert dst.text(StyleCode.BF16.value << 33 | 1 << 32 | 0x3F800000) == "1"
    assert dst.text(StyleCode.BF16.value << 33 | 0xC0A0) == "-5"


def test_a_code_of_another_width_has_no_selected_format():
    """The decoder of a partial sum has ports of the same names as that of an element."""
    assert chosen("code", 32, "format") is None


# Additions of a build with waves: wires for numbers and expected values, the FST writer's LZ4 blocks; and its
# omissions.


PROGRAM = """
#include <iostream>
#include <iterator>
#include "lz4.h"

int main() {
    const std::vector<char> data{std::istreambuf_iterator<char>(std::cin), {}};
    std::vector<char> block(LZ4_compressBound(data.size()));
    std::cout.write(block.data(), LZ4_compress_default(data.data(), block.data(), data.size(), block.size()));
}
"""
RANDOM = Random(1)
NOISE = RANDOM.randbytes(70_000)
DATA = {
    **{f"{size} equal bytes": bytes(size) for size in (0, 1, 12, 13, 14, 19, 33, 34, 288, 289, 100_000)},
    **{f"{size} random bytes": NOISE[:size] for size in (1, 14, 15, 16, 269, 270, 271, 70_000)},
    "a match at the largest offset": NOISE[:65_535] + NOISE[:100],
    "a match beyond the largest offset": NOISE[:65_536] + NOISE[:100],
    "a match up to the end": NOISE[:40] + NOISE[:40],
    "few values": bytes(RANDOM.choice(b"\x01\x03\x0b") for _ in range(20_000)),
}


@pytest.fixture(scope="module")
def compress(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lz4")
    (folder / "compress.cpp").write_text(PROGRAM)
    tracing.write_fst_files(folder)
    options = ["-fsanitize=address,undefined", "-Wall", "-Wextra", "-Werror", "-I."]
    subprocess.run(["g++", *options, "-o", "compress", "compress.cpp"], cwd=folder, check=True)
    return lambda data: subprocess.run([folder / "compress"], input=data, capture_output=True, check=True).stdout


def decompressed(block):
    """Decode an LZ4 block as its format description says."""
    data, rest = bytearray(), iter(block)

    def count(nibble):
        total = nibble
        more = nibble == 15
        while more:
            byte = next(rest)
            total, more = total + byte, byte == 255
        return total

    for token in rest:
        data += bytes(next(rest) for _ in range(count(token >> 4)))
        low = next(rest, None)
        if low is None:
            assert token & 15 == 0
            return bytes(data)
        offset = low | next(rest) << 8
        assert 0 < offset <= len(data)
        for _ in range(count(token & 15) + 4):
            data.append(data[-offset])
    raise AssertionError("the block ends after a match")


@pytest.mark.simulator
@pytest.mark.parametrize("name", DATA)
def test_a_block_decompresses_to_its_data(compress, name):
    block = compress(DATA[name])
    assert decompressed(block) == DATA[name]


@pytest.mark.simulator
def test_matches_make_a_block_shorter(compress):
    assert len(compress(bytes(100_000))) < 500
    assert len(compress(DATA["a match at the largest offset"])) < len(
        compress(DATA["a match beyond the largest offset"])
    )


def test_only_declarations_of_generated_names_are_left_out(tmp_path):
    source = tmp_path / "unit.v"
    lines = [
        r"  wire [3:0] \$1 ;",
        r"  reg \$auto$proc.cc:1:f$2  = 0;",
        r"  wire \i.data ;",
        "  reg a;",
        r"  assign a = \$1 ;",
    ]
    source.write_text("\n".join(lines))
    assert list(tracing.left_out([str(source)])) == [f'tracing_off -file "{source}" -lines {line}' for line in (1, 2)]


TOP = """module decode(format, code);
  input format;
  wire format;
  input [7:0] code;
  wire [7:0] code;
endmodule
module top_00000000(a, o, o__valid);
  input [8:0] a;
  wire [8:0] a;
  output [40:0] o;
  wire [40:0] o;
  output o__valid;
  wire o__valid;
  wire [7:0] \\o.elements[0] ;
  wire \\$1 ;
endmodule
"""


def test_a_wave_has_wires_for_numbers_and_expected_values():
    fields = {"o": {"o.elements[0]": (0, 8), "o.format": (40, 1)}, "a": {"a.code": (0, 8), "a.format": (8, 1)}}
    decode, top = tracing.with_wave_wires(TOP, "top_00000000", fields).split("module top")
    assert "  wire [8:0] number__code = { format, code };\n" in decode
    assert re.findall(r"^  (?:reg|wire .*=).*", top, re.M) == [
        "  reg mismatch = 0;",
        "  reg [40:0] mismatch__actual = 0;",
        "  reg [40:0] mismatch__expected = 0;",
        "  wire [7:0] \\a.code  = a[7:0];",
        "  wire \\a.format  = a[8:8];",
        "  wire [8:0] number__a__code = { a[8:8], a[7:0] };",
        "  wire number__a__format = { a[8:8] };",
        "  wire \\o.format  = o[40:40];",
        "  wire [8:0] number__o__elements_0 = { o[40:40], o[7:0] };",
        "  wire number__o__format = { o[40:40] };",
        "  reg [40:0] expected__o = 0;",
        "  reg mismatch__o = 0;",
        "  wire [8:0] expected__o__elements_0 = { expected__o[40:40], expected__o[7:0] };",
        "  wire expected__o__format = { expected__o[40:40] };",
    ]
