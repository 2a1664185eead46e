"""Options of cases: SrcA transposed, the packer's edge mask, accumulation in L1, integers of 16 bits."""

from dataclasses import replace

import numpy as np
import pytest

from bitpath.golden import tensix
from bitpath.golden.tensix.declarations.formats import BLOCK, TILE, Format
from bitpath.golden.tensix.llk import Case, compare, expected
from bitpath.verif.tensix.llk.bf16_cases import COPY, EIGHTHS, TWO, bf16, normal, result
from bitpath.verif.tensix.llk.stimuli import l1_of


@pytest.mark.parametrize("op", ["matmul", "elwsub", "datacopy"])
@pytest.mark.parametrize(("faces", "within"), [(True, True), (True, False), (False, True)])
def test_src_a_transposed(op, faces, within):
    """A matmul's right operand, else the left one; faces and their inside together are the whole tile."""
    small = np.arange(TILE * TILE).reshape(TILE, TILE) * 7 % 11 - 5.0
    other = np.eye(TILE) * 2 if op == "matmul" else EIGHTHS
    turned = small.reshape(2, BLOCK, 2, BLOCK)
    turned = turned.transpose(2, 1, 0, 3) if faces else turned
    turned = (turned.transpose(0, 3, 2, 1) if within else turned).reshape(TILE, TILE)
    flags = {"unpack_transpose_faces": faces, "unpack_transpose_within_face": within}
    case = Case(
        **(COPY if op == "datacopy" else TWO) | {"op": op, "fidelity": "HiFi4" if op == "matmul" else "LoFi"} | flags
    )
    operands = {"matmul": (other, small), "elwsub": (small, other), "datacopy": (small,)}[op]
    right = {"matmul": 2 * turned, "elwsub": turned - other, "datacopy": turned}[op]
    assert np.array_equal(result(case, *operands), right)
    stored = [l1_of(each, Format.BF16) for each in operands]
    device = expected(replace(case, unpack_transpose_faces=not faces), *stored).l1
    found = compare(case, *stored, *[None] * (2 - len(stored)), device)
    assert f"faces 1 and 2 of SrcA {'not ' * faces}transposed" in found.causes


@pytest.mark.parametrize("fmt", ["FP32", "BF16", "FP16"])
def test_accumulation_in_l1(fmt):
    """The second half of K onto the first: what `pack` adds, and a device that overwrites is named."""
    held = {"FP32": {"dst32": True}, "BF16": {}, "FP16": {"register_format": "FP16", "in_a": "FP16", "in_b": "FP16"}}[
        fmt
    ]
    case = Case(
        **TWO | {"mid_format": fmt, "out_format": fmt, "fidelity": "HiFi4", "dimensions_b": (TILE, 2 * TILE)} | held
    )
    operands = [l1_of(normal(seed, TILE, columns), case.formats.in_a) for seed, columns in ((1, TILE), (2, 2 * TILE))]
    first = expected(case, operands[1][: operands[0].size], operands[1]).l1
    adding = replace(case, l1_accumulate=True)
    stages = expected(adding, *operands, l1_before=first)
    alone = expected(case, *operands)
    assert np.array_equal(stages.mid, alone.mid)
    added = tensix.pack(alone.dst_after_phase[-1].reshape(-1), fmt, fmt, dst32=case.dst32, l1=first)
    assert np.array_equal(stages.l1, added)
    found = compare(adding, *operands, alone.l1, l1_before=first)
    assert (found.stage, found.causes) == ("l1", ("the result replaces what was in L1",))


@pytest.mark.parametrize("infinity", [False, True])
def test_edge_masks(infinity):
    """Columns 0 to 11 of the even rows of each tile stay."""
    masks = tuple(0xFFF * (row % 2 == 0) for row in range(2 * TILE))
    kept = np.tile([[True] * 12 + [False] * 4, [False] * BLOCK], (BLOCK, 2))
    case = Case(**COPY | {"edge_mask": masks, "edge_minus_infinity": infinity, "dimensions_a": (TILE, 2 * TILE)})
    matrix = bf16(normal(4, TILE, 2 * TILE))
    masked = np.where(np.tile(kept, 2), matrix, -np.inf if infinity else 0)
    assert np.array_equal(result(case, matrix), masked)
    assert case == replace(case, edge_mask=np.array(masks)) == replace(case, edge_mask=list(masks))
    whole = replace(case, edge_mask=None, edge_minus_infinity=False)
    found = compare(case, l1_of(matrix, Format.BF16), None, expected(whole, l1_of(matrix, Format.BF16)).l1)
    assert "no edge mask" in found.causes
    assert np.array_equal(result(replace(whole, edge_mask=0xFFFF), matrix), matrix)


def test_int16_comes_through_dst():
    """16 bits as they are; from a 32-bit Dst the upper half in the register's order."""
    codes = np.arange(TILE * TILE, dtype=np.uint16) * 61
    formats = dict.fromkeys(("in_a", "register_format", "mid_format", "out_format"), "INT16")
    for op in ("datacopy", "pack_untilize"):
        stages = expected(Case(op=op, **formats), codes.view(np.uint8))
        numbers = stages.l1.view(np.uint16)
        tiles = codes.reshape(1, 1, 2 * TILE, BLOCK)
        assert np.array_equal(numbers, (tensix.untilize(tiles) if op == "pack_untilize" else codes).reshape(-1))
    assert stages.src_a is None
    upper = Case(op="datacopy", dst32=True, **formats | {"in_a": "FP32", "register_format": "FP32"})
    words = np.full(TILE * TILE, 0x80842202, np.uint32)
    assert set(expected(upper, words).l1.view(np.uint16)) == {0x8401}
