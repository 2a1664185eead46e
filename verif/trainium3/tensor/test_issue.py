"""Cycles of TensorE's instructions, and their issue against a simulation cycle by cycle."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bitpath.golden.trainium3 import TensorInstruction, issue, load_cycles, tensor_cycles
from bitpath.golden.trainium3.declarations import tensor

BF, E4 = ml_dtypes.bfloat16, ml_dtypes.float8_e4m3


@pytest.mark.parametrize(
    ("kind", "m", "n", "dtype", "together", "load"),
    [
        ("matmul", 128, 512, BF, 512, 32),
        ("matmul", 128, 1, BF, 64, 32),
        ("matmul", 1, 128, BF, 128, 1),
        ("matmul", 1, 1, BF, 1, 1),
        ("matmul", 128, 512, np.float32, 2048, 64),
        ("onezero", 128, 512, np.float32, 1024, 64),
        ("onezero", 128, 512, BF, 512, 32),
        ("matmul", 128, 512, "tf32", 512, 64),
        ("mx", 128, 512, ml_dtypes.float8_e5m2, 512, 64),
        ("mx", 128, 512, ml_dtypes.float4_e2m1fn, 512, 32),
        ("double_row", 128, 512, E4, 512, 32),
        ("sparse", 128, 512, BF, 512, 40),
        ("sparse", 128, 512, "tf32", 512, 72),
        ("transpose", 128, 128, BF, 128, 32),
        ("transpose", 32, 128, np.int32, 256, 16),
        ("transpose", 5, 128, np.uint8, 128, 2),
    ],
)
def test_cycles(kind, m, n, dtype, together, load):
    assert tensor_cycles(kind, m, n, dtype) == together
    assert load_cycles(kind, m, dtype) == load


@pytest.mark.parametrize(
    ("arguments", "error", "sentence"),
    [
        (
            ("dense", 1, 1, BF),
            ValueError,
            "kind must be 'matmul', 'onezero', 'mx', 'double_row', 'sparse' or 'transpose'",
        ),
        (("matmul", 1, 1, np.int8), TypeError, "dtype must be bfloat16, .* not int8"),
        (("double_row", 1, 1, ml_dtypes.float8_e3m4), TypeError, "dtype must be float8_e4m3, .* not float8_e3m4"),
        (("sparse", 1, 1, E4), TypeError, "dtype must be bfloat16, float16 or float32, not float8_e4m3"),
        (("matmul", 0, 1, BF), ValueError, "m must be 1 to 128, not 0"),
        (("matmul", 1, 1025, BF), ValueError, "n must be 1 to 1024, not 1025"),
    ],
)
def test_arguments(arguments, error, sentence):
    with pytest.raises(error, match=f"^{sentence}"):
        tensor_cycles(*arguments)


def transposes(count, cycles=128):
    return [TensorInstruction(cycles=cycles, banks=(each % 2,), transpose=True) for each in range(count)]


def test_two_transposes_run_side_by_side():
    slots = issue(transposes(8))
    assert [slot.start for slot in slots] == [0, 1, 128, 129, 256, 257, 384, 385]
    assert [slot.background for slot in slots] == [False, True] * 4
    assert slots[-1].end == 513


def test_transposes_run_behind_a_matmul():
    slots = issue([TensorInstruction(cycles=512, banks=(2,)), *transposes(4)])
    assert max(slot.end for slot in slots) == 513
    assert all(slot.background for slot in slots[1:])


def test_what_waits():
    matmul = TensorInstruction(cycles=10, banks=(0,))
    assert [slot.start for slot in issue([matmul, matmul])] == [0, 10]  # never in the background
    beside = TensorInstruction(cycles=4, banks=(0, 3), transpose=True)
    assert issue([matmul, beside])[1].start == 10  # the same bank
    assert issue([matmul, TensorInstruction(cycles=4, banks=(1,), transpose=True, ready=7)])[1].start == 7
    tile = TensorInstruction(cycles=6, banks=(1,), tile=(0, 0, 32, 64))
    beside = TensorInstruction(cycles=6, banks=(2,), tile=(0, 64, 32, 64))
    below = TensorInstruction(cycles=6, banks=(3,), tile=(0, 32, 64, 64))
    whole = TensorInstruction(cycles=6, banks=(4,), transpose=True)
    assert [slot.start for slot in issue([tile, beside, below, whole])] == [0, 1, 7, 13]
    assert issue([]) == ()


boxes = st.tuples(*[st.sampled_from([0, 32, 64])] * 2, *[st.sampled_from([32, 64])] * 2)
instructions = st.builds(
    TensorInstruction,
    cycles=st.integers(1, 6),
    banks=st.lists(st.integers(0, 3), min_size=1, max_size=2).map(tuple),
    transpose=st.booleans(),
    ready=st.integers(0, 12),
    tile=st.none() | st.none() | boxes,
)


def cells(tile):
    row, column, rows, columns = tile
    return {(r, c) for r in range(row, row + rows, 32) for c in range(column, column + columns, 32)}


@settings(max_examples=200, deadline=None)
@given(st.lists(instructions, max_size=8))
def test_issue_is_that_of_a_machine_stepped_cycle_by_cycle(program):
    """Two slots for the whole array, or the array's 32 x 32 tiles, each busy until a cycle."""
    free_at = {"main": 0, "background": 0}
    tiles, banks, starts, cycle = {}, {}, [], 0
    for own in program:
        while True:
            writing = any(banks.get(bank, 0) > cycle for bank in own.banks)
            places = ["main", "background"] if own.transpose else ["main"]
            if own.tile is None:
                idle = [] if any(end > cycle for end in tiles.values()) else places
                place = next((each for each in idle if free_at[each] <= cycle), None)
            else:
                busy = any(end > cycle for end in free_at.values())
                busy |= any(tiles.get(cell, 0) > cycle for cell in cells(own.tile))
                place = None if busy else "tile"
            if cycle >= own.ready and place and not writing:
                break
            cycle += 1
        end = cycle + own.cycles
        starts.append((cycle, place == "background", end))
        banks.update({bank: max(end, banks.get(bank, 0)) for bank in own.banks})
        if own.tile is None:
            free_at[place] = end
        else:
            tiles.update(dict.fromkeys(cells(own.tile), end))
        cycle += 1
    assert starts == [(slot.start, slot.background, slot.end) for slot in issue(program)]


def test_instructions_refuse():
    with pytest.raises(ValueError, match=r"^cycles must be at least 1 and ready at least 0, not 0 and 0$"):
        TensorInstruction(cycles=0, banks=(0,))
    with pytest.raises(ValueError, match=r"^banks must have at least 1 element, not 0$"):
        TensorInstruction(cycles=1, banks=())


def test_everything_has_a_source():
    sources = [source for preset in tensor.PRESETS.values() for source in preset.sources.values()]
    sources += [choice.source for choice in tensor.CHOICES]
    assert all(source.where and source.kind in ("documented", "measured", "inferred", "chosen") for source in sources)
    assert list(tensor.PRESETS) == [preset.name for preset in tensor.PRESETS.values()]
    assert set(tensor.PATTERNS) == {"4:16", "4:12", "4:8", "2:8", "2:4", "1:4", "1:2"}
