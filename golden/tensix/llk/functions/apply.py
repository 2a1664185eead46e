"""A named function of the Vector unit on words of Dst, all tiles at once."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from bitpath.golden.arrays.arguments import (
    as_numpy,
    check_array,
    checked,
    integer,
)
from bitpath.golden.tensix.declarations.formats import COLUMNS, DST16_BF16, DST16_FP16, Chip, Format
from bitpath.golden.tensix.declarations.numerics import CHIP_PRESETS, TensixNumerics
from bitpath.golden.tensix.llk.functions.function import TILE_ROWS, Function, Mode, numbers_by_name
from bitpath.golden.tensix.llk.functions.table import named_function
from bitpath.golden.tensix.operands.arguments import check_width
from bitpath.golden.tensix.operands.registers import from_physical, to_physical
from bitpath.golden.tensix.sfpu.lanes import Lanes
from bitpath.golden.tensix.sfpu.prng import Prng
from bitpath.golden.tensix.sfpu.run import run

TILE_DATUMS = TILE_ROWS * COLUMNS


@checked
def apply(
    function: str | Function,
    operands: Any,
    *,
    parameters: Any = None,
    chip: Chip | str = Chip.WORMHOLE,
    approximate: bool = False,
    fast: bool = False,
    dst32: bool = False,
    src_b_format: Format | int | str = Format.BF16,
    seed: int = 0,
    numerics: TensixNumerics | None = None,
) -> np.ndarray:
    """Return the Dst words that a function of the kernel library leaves.

    Parameters
    ----------
    function : a name of `FUNCTIONS`, or a `Function`.
    operands : logical Dst words, uint32, of several operands a list of arrays of one shape: FP32 codes or integers with `dst32`,
        else BF16 or FP16 codes, or integers of 16 bits. Tiles are 64 rows of 16, in order; zeros fill the last one.
    parameters : a mapping of the function's parameters to numbers; None leaves them out.
    chip, approximate, fast, dst32 : as of `Mode`.
    src_b_format : format of SrcB, by which a 16-bit Dst is BF16 or FP16.
    seed : PRNG_SEED of functions that draw random numbers; their tiles, and those of functions that carry registers, follow each
        other.
    numerics : None is those of the chip's preset.

    Returns
    -------
    uint32 of the operands' shape; of a function with several results one after the other along a first axis.

    Raises
    ------
    TypeError, ValueError : an unknown function or parameter, a form that the function has not, another number of operands,
        another dtype, shapes that differ, words too wide.
    """
    found = function if isinstance(function, Function) else named_function(function)
    several = operands if isinstance(operands, list | tuple) else [operands]
    arrays = [as_numpy(f"operands[{number}]", each) for number, each in enumerate(several)]
    mode = Mode(chip=chip, approximate=approximate, fast=fast, dst32=dst32)
    if len(arrays) != found.operands:
        raise ValueError(f"operands of {found.name} must be {found.operands} arrays, not {len(arrays)}")
    for number, each in enumerate(arrays):
        check_array(f"operands[{number}]", each, np.uint32)
        if each.shape != arrays[0].shape:
            raise ValueError(f"operands[{number}] must have shape {arrays[0].shape}, not {each.shape}")
        check_width(f"operands[{number}]", each, 32 if dst32 else 16)
    shape = arrays[0].shape
    numerics = CHIP_PRESETS[Chip(mode.chip)].numerics if numerics is None else numerics
    given = numbers_by_name(() if parameters is None else parameters)
    indices = () if dst32 else found.indices
    for number, each in enumerate(arrays):
        if found.reads_uint16 or number in indices:
            arrays[number] = from_physical(each, DST16_BF16)
    filled = arrays + [np.zeros(shape, np.uint32)] * (found.tiles - found.operands)
    tiles = np.concatenate([_tiles(each) for each in filled], axis=1)
    seed = integer("seed", seed, range(1 << 32))
    after = after_function(found, mode, given, tiles, src_b_format=src_b_format, seed=seed, numerics=numerics)
    results = []
    for number in found.results:
        words = (
            after[:, number * TILE_ROWS : (number + 1) * TILE_ROWS].reshape(-1)[: int(np.prod(shape))].reshape(shape)
        )
        results.append(to_physical(words, DST16_BF16) if found.writes_uint16 or number in indices else words)
    return results[0] if len(results) == 1 else np.stack(results)


def after_function(
    found: Function,
    mode: Mode,
    parameters: Mapping[str, Any],
    tiles: np.ndarray,
    *,
    src_b_format: Format | int | str,
    seed: int,
    numerics: TensixNumerics,
) -> np.ndarray:
    """Return logical Dst words [n, rows, 16] after a function; those of an FP16 result as FP16.

    Tiles of functions that draw random numbers or carry registers follow each other on one unit.
    """
    words = found.words(mode, **parameters)
    options: dict[str, Any] = {
        "fp32": mode.dst32,
        "src_b_format": src_b_format,
        "chip": mode.chip,
        "numerics": numerics,
    }
    if not (found.draws or found.carries):
        after = run(words, tiles, **options)
    else:
        lanes = Lanes((), numerics)
        lanes.prng[:] = Prng(seed).state
        following = found.words(mode, **{**parameters, "first": 0}) if found.carries else words
        after = tiles.copy()
        for number, each in enumerate(tiles):
            after[number] = run(following if number else words, each, lanes=lanes, **options)
    return from_physical(to_physical(after, DST16_BF16), DST16_FP16) if found.writes_fp16 else after


def _tiles(words: np.ndarray) -> np.ndarray:
    """Return words as whole tiles, [n, 64, 16]."""
    flat = words.reshape(-1)
    filled = np.zeros(-(-flat.size // TILE_DATUMS) * TILE_DATUMS, np.uint32)
    filled[: flat.size] = flat
    return filled.reshape(-1, TILE_ROWS, COLUMNS)
