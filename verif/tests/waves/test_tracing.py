"""What a build with waves adds: wires for numbers and expected values, the FST writer's LZ4 blocks, and what is left out."""

import re
import subprocess
from random import Random

import pytest

from bitpath.sim.engine import tracing

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
  wire \\$1 ;
endmodule
"""


def test_a_wave_has_wires_for_numbers_and_expected_values():
    fields = {"o": {"o.elements[0]": (0, 8), "o.format": (40, 1)}, "a": {"a.code": (0, 8), "a.format": (8, 1)}}
    decode, top = tracing.with_wave_wires(TOP, "top_00000000", fields).split("module top")
    assert "  wire [8:0] number__code = { format, code };\n" in decode
    assert re.findall(r"^  (?:reg|wire .*=).*", top, re.M) == [
        "  reg mismatch = 0;",
        "  wire [8:0] number__a__code = { a[8:8], a[7:0] };",
        "  wire number__a__format = { a[8:8] };",
        "  wire [8:0] number__o__elements_0 = { o[40:40], o[7:0] };",
        "  wire number__o__format = { o[40:40] };",
        "  reg [40:0] expected__o = 0;",
        "  reg mismatch__o = 0;",
        "  wire [8:0] expected__o__elements_0 = { expected__o[40:40], expected__o[7:0] };",
        "  wire expected__o__format = { expected__o[40:40] };",
    ]
