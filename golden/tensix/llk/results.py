"""Results of a case: tiles of Dst words to L1, and the codes of their datums."""

from typing import Any

import numpy as np

from bitpath.golden.tensix.convert.block_floats import exponent_stream_bytes
from bitpath.golden.tensix.convert.pack import pack, settled_formats
from bitpath.golden.tensix.convert.unpack import L1_BYTES, unpack
from bitpath.golden.tensix.declarations.formats import BLOCK, BLOCK_FLOATS, COLUMNS, DST16_BF16, FACE, Format
from bitpath.golden.tensix.llk.case import ROW_MAJOR_RESULTS, Case, Op, ReduceDim
from bitpath.golden.tensix.llk.device import Device
from bitpath.golden.tensix.llk.formats import MID_CARRIERS
from bitpath.golden.tensix.llk.sources import TILE_DATUMS, in_tiles, operand_bytes, row_major
from bitpath.golden.tensix.matmul.host import TILE_ROWS
from bitpath.golden.tensix.operands.words import to_physical


def middle(case: Case, device: Device, dst: np.ndarray) -> np.ndarray:
    """Return the intermediate datums [n, 64, 16], after ReLU."""
    settled, narrows = settled_formats(
        device.packer, case.formats.mid, case.formats.out, dst32=case.dst32, raw=device.raw, round_10b=case.round_10b
    )
    carrier = MID_CARRIERS[settled]
    options = _packer_options(case, device) | {"round_10b": narrows}
    mids = [pack(each, settled, carrier, **options) for each in _in_order(case, device, dst)]
    return np.stack(mids).view(f"<u{L1_BYTES[carrier]}").reshape(dst.shape)


def packed(case: Case, device: Device, dst: np.ndarray, before: np.ndarray | None) -> np.ndarray:
    """Return the bytes of the result, added to those before."""
    given, tiles = case.formats, _in_order(case, device, dst)
    options = _packer_options(case, device) | {"round_10b": case.round_10b, "e4m3": case.e4m3}
    if device.to_blocks is not None and given.out in BLOCK_FLOATS:
        whole = Format.BF16 if BLOCK_FLOATS[given.out].exponent_bits == 8 else Format.FP16
        results = [device.to_blocks(pack(each, given.mid, whole, **options).view("<u2"), given.out) for each in tiles]
    else:
        old = [None] * len(tiles) if before is None or not case.l1_accumulate else before.reshape(len(tiles), -1)
        results = [pack(tile, given.mid, given.out, l1=each, **options) for tile, each in zip(tiles, old, strict=True)]
    return np.concatenate(results)


def _in_order(case: Case, device: Device, dst: np.ndarray) -> np.ndarray:
    """Return the tiles of Dst as the packer reads them."""
    if case.op is Op.PACK_UNTILIZE:
        dst = row_major(dst, case.result_dimensions)
    if device.other_order:
        move = in_tiles if case.op in ROW_MAJOR_RESULTS else row_major
        dst = move(dst, case.result_dimensions)
    return to_physical(dst, DST16_BF16) if case.formats.register is Format.INT16 else dst


def _packer_options(case: Case, device: Device) -> dict[str, Any]:
    """Return the packer's configuration but for formats."""
    return {
        "dst32": case.dst32,
        "relu": case.relu,
        "relu_threshold": case.relu_threshold,
        "raw": device.raw,
        "edge_mask": edge_masks(case),
        "edge_minus_infinity": case.edge_minus_infinity,
        "numerics": device.packer,
    }


def edge_masks(case: Case) -> np.ndarray | None:
    """Return the packer's masks of a tile's rows, the case's or those that leave a reduction's datums; None leaves all."""
    if case.op is not Op.REDUCE:
        return None if case.edge_mask is None else np.array(case.edge_mask, np.uint16)
    masks = np.zeros((4, FACE), np.uint16)
    if case.reduce_dim is ReduceDim.COL:
        masks[:2, 0] = (1 << COLUMNS) - 1
    elif case.reduce_dim is ReduceDim.ROW:
        masks[::2] = 1
    else:
        masks[0, 0] = 1
    return masks.reshape(TILE_ROWS)


def datum_codes(case: Case, l1: np.ndarray) -> np.ndarray:
    """Return the code of each datum in L1; a block float's has its exponent above its own bits."""
    fmt = case.formats.out
    if fmt not in BLOCK_FLOATS:
        return l1.view(f"<u{L1_BYTES[fmt]}").astype(np.int64)
    tiles = l1.reshape(-1, operand_bytes(fmt, (1, TILE_DATUMS)))
    stream, bits = exponent_stream_bytes(TILE_DATUMS), BLOCK_FLOATS[fmt].datum_bits
    places = np.unpackbits(tiles[:, stream:], axis=1, bitorder="little").reshape(-1, bits)
    datums = places @ (1 << np.arange(bits))
    exponents = np.repeat(tiles[:, : TILE_DATUMS // BLOCK].reshape(-1), BLOCK)
    return exponents.astype(np.int64) << bits | datums


def places_in_order(case: Case, l1: np.ndarray) -> np.ndarray:
    """Return the position of each datum in the order of its format's numbers, so that neighbours differ by 1.

    A block float's is that of the BF16 or FP16 number that it is.
    """
    fmt = case.formats.out
    if fmt in BLOCK_FLOATS:
        eight = BLOCK_FLOATS[fmt].exponent_bits == 8
        tiles = l1.reshape(-1, operand_bytes(fmt, (1, TILE_DATUMS)))
        register = Format.BF16 if eight else Format.FP16
        words = np.stack([unpack(each, fmt, register, count=TILE_DATUMS, numerics=case.numerics) for each in tiles])
        codes, width = words.reshape(-1).astype(np.int64) >> (3 if eight else 0), 16 if eight else 19
    else:
        codes, width = datum_codes(case, l1), 8 * L1_BYTES[fmt]
    magnitude = codes & (1 << width - 1) - 1
    return np.where(codes >> width - 1, -magnitude, magnitude)
