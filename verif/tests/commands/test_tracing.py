"""Verilator's part of a wave: the LZ4 blocks of the FST writer, and the signals that are left out."""

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
