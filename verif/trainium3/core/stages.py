"""Instructions on RTL units: operands to the words that a unit takes, and its answers to results.

One unit stands for all partitions, and takes them one after the other. `play` simulates a unit.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from bitpath.golden import trainium3
from bitpath.golden.arrays.codec import format_of
from bitpath.golden.formats.catalogue import BF16
from bitpath.golden.trainium3.declarations.dma import MAX_DESCRIPTOR_BYTES
from bitpath.golden.trainium3.declarations.quad_mx import AccumulateFlag, ScaleRule
from bitpath.golden.trainium3.declarations.vector import XORWOW_STATES
from bitpath.golden.trainium3.operands.cast import CAST_DTYPES
from bitpath.golden.trainium3.operands.layout import pack_x4, unpack_x4
from bitpath.rtl.trainium3.core.config import DmaEngineConfig
from bitpath.rtl.trainium3.dma.dma_transpose import DmaTransposeConfig
from bitpath.rtl.trainium3.dma.dtype import Dtype
from bitpath.rtl.trainium3.lanes.activation2_lane import Beat, Function, Operations, ReduceCommand, Reduction, Result
from bitpath.rtl.trainium3.lanes.copy_lanes import WORD_BYTES, CopyCommand, CopyWord, Engine, Stride
from bitpath.rtl.trainium3.lanes.engine_lane import WORD_BITS, Operator, engine_beat, engine_result
from bitpath.rtl.trainium3.lanes.rand2_lane import Rand2Config, rand2_beat
from bitpath.rtl.trainium3.tensor.background_transpose import TransposeConfig, column_layout, row_layout
from bitpath.rtl.trainium3.vector.exponential import ExponentialConfig, Reduce, Source, beat_layout, result_layout
from bitpath.verif.kit.packing import pack
from bitpath.verif.kit.words import Words, field
from bitpath.verif.trainium3.core.dma_engine import Load, single_load
from bitpath.verif.trainium3.dma.dma_mover import ADDS, COPY, Move
from bitpath.verif.trainium3.dma.dma_transpose import Job, placed
from bitpath.verif.trainium3.dtype_words import DTYPE_NAMES
from bitpath.verif.trainium3.vector.quantize_mx import Mode, blocks_tile, tile_blocks

Play = Callable[[str, Any], dict[str, Any]]
"""Simulates a unit, by name, on an input, and returns what its run bench wrote."""


WORDS_BENCH = "bitpath.verif.kit.tb_words_run"
LANE_WIDTH = 4
"""Elements a cycle of VectorE's lane."""
TRANSPOSE = TransposeConfig(size=32)
"""The unit that takes blocks of 32 by 32."""


def _dtype(array: np.ndarray) -> Dtype:
    return Dtype[DTYPE_NAMES[array.dtype].upper()]


def _fp32_codes(data: np.ndarray) -> np.ndarray:
    """Return the FP32 codes of elements; integers of more bits are rounded to nearest even."""
    return data.astype(np.float32).view(np.uint32)


def _bits(data: np.ndarray) -> np.ndarray:
    """Return the bits of elements as unsigned integers."""
    return np.ascontiguousarray(data).view(f"u{data.dtype.itemsize}")


def _words(play: Play, unit: str, words: dict[str, list[int]], results: int) -> np.ndarray:
    return play(unit, Words(unit, words, results))["words"]


def activate(
    play: Play,
    data: np.ndarray,
    function: str = "copy",
    reduction: str = "add",
    *,
    operations: str = "multiply_add",
    scale: float | np.ndarray = 1.0,
    bias: np.ndarray | None = None,
    start: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return ``function(data * scale + bias)`` and its reduction, float32 [P, F] and [P, 1].

    scale is a number or [P, 1]; bias is [P, 1], +0 by default. The registers begin with ``start`` [P, 1], or with nothing reduced.
    """
    rows = len(data)
    scales, biases = (np.broadcast_to(np.float32(each), (rows, 1)) for each in (scale, 0 if bias is None else bias))
    common = {"reduction": Reduction[reduction.upper()]}
    words = []
    for p, row in enumerate(_fp32_codes(data)):
        control = common | {"operations": Operations[operations.upper()], "function": Function[function.upper()]}
        control |= {"imm0": int(_fp32_codes(scales[p])[0]), "imm1": int(_fp32_codes(biases[p])[0])}
        # The identity reduced with a start is the start.
        load = pack(Beat, {"control": common | {"command": ReduceCommand.RESET_REDUCE}})
        first, others = (
            pack(Beat, {"control": control | {"command": command}})
            for command in (ReduceCommand.RESET_REDUCE if start is None else ReduceCommand.REDUCE, ReduceCommand.REDUCE)
        )
        words += [] if start is None else [int(_fp32_codes(start[p])[0]) | load]
        words += [int(code) | (others if place else first) for place, code in enumerate(row)]
    table = _words(play, "activation2_lane", {"i": words}, len(words))
    values, registers = (
        field(Result, table, name).astype(np.uint32).view(np.float32).reshape(rows, -1)[:, -data.shape[1] :]
        for name in ("value", "register")
    )
    return values, registers[:, -1:]


def recur(play: Play, unit: str, data: np.ndarray) -> np.ndarray:
    """Return a function that is computed digit by digit, of float32 [P, F]: "reciprocal" or "reciprocal_square_root"."""
    codes = np.ascontiguousarray(data).view(np.uint32).ravel()
    table = _words(play, unit, {"i": [int(code) for code in codes]}, len(codes))
    return np.ascontiguousarray(table).view(np.float32).reshape(data.shape)


def operate(
    play: Play, x: np.ndarray, operator: str, y: np.ndarray, result: str, *, reverse: bool = False
) -> np.ndarray:
    """Return ``x operator y``, or y operator x, of a dtype by name; y is [P, F] like x, or [P, 1], a scalar for each partition."""
    layout = engine_beat(LANE_WIDTH)
    scalar = y.shape[1] == 1
    control = {
        "first": {"op": Operator[operator.upper()], "reverse": reverse},
        "second": {"op": Operator.BYPASS},
        "scalar": scalar,
    }
    control |= {"x": _dtype(x), "y": _dtype(y), "result": Dtype[result.upper()]}
    fixed = pack(layout, {"control": control})
    width = x.shape[1]
    padded = np.pad(_bits(x).astype(np.uint64), ((0, 0), (0, -width % LANE_WIDTH)))
    other = _bits(y).astype(np.uint64)
    other = np.repeat(other, padded.shape[1], axis=1) if scalar else np.pad(other, ((0, 0), (0, -width % LANE_WIDTH)))
    groups = [each.astype("<u4").reshape(-1, LANE_WIDTH) for each in (padded, other)]
    words = [
        fixed | int.from_bytes(left.tobytes() + right.tobytes(), "little") for left, right in zip(*groups, strict=True)
    ]
    table = _words(play, "engine_lane", {"i": words}, len(words))
    columns = [field(engine_result(LANE_WIDTH), table, f"o.{k}") for k in range(LANE_WIDTH)]
    dtype = CAST_DTYPES[result]
    found = np.stack(columns, axis=1).reshape(len(x), -1)[:, :width]
    return np.ascontiguousarray(found.astype(f"u{dtype.itemsize}")).view(dtype)


def copy(play: Play, data: np.ndarray, dtype: np.dtype | None = None, *, engine: str = "vector") -> np.ndarray:
    """Return a tile [P, F] as tensor_copy has it, of data's or another dtype; it is read from PSUM."""
    to = np.empty((), data.dtype if dtype is None else dtype)
    mode = {"pair": {"source": _dtype(data), "destination": _dtype(to)}, "engine": Engine[engine.upper()]}
    command = pack(CopyCommand, {"mode": mode | {"psum": 1, "stride": Stride.NONE}, "rest": data.shape[1] - 1})
    raw = np.ascontiguousarray(data).view(np.uint8)
    rows = np.pad(raw, ((0, 0), (0, -raw.shape[1] % WORD_BYTES))).reshape(len(data), -1, WORD_BYTES)
    words = [int.from_bytes(word.tobytes(), "little") for row in rows for word in row]
    count = data.shape[1] * to.itemsize
    results = len(data) * -(-count // WORD_BYTES)
    table = _words(play, "copy_lanes", {"command": [command] * len(data), "i": words}, results)
    found = field(CopyWord, table, "data").astype("<u8").view(np.uint8).reshape(len(data), -1)
    return np.ascontiguousarray(found[:, :count]).view(to.dtype)


def transpose(play: Play, data: np.ndarray) -> np.ndarray:
    """Return the transpose of a tile of 16-bit elements whose sides are multiples of the unit's."""
    size, (rows, columns) = TRANSPOSE.size, data.shape
    row, column = row_layout(TRANSPOSE), column_layout(TRANSPOSE)
    codes = data.view(np.uint16)
    blocks = [codes[r : r + size, c : c + size] for c in range(0, columns, size) for r in range(0, rows, size)]
    ends = [pack(row, {"last_column": size - 1, "last": place == size - 1}) for place in range(size)]
    words = [
        int.from_bytes(line.astype("<u2").tobytes(), "little") | end
        for block in blocks
        for line, end in zip(block, ends, strict=True)
    ]
    table = _words(play, "background_transpose", {"i": words}, len(words))
    turned = np.stack([field(column, table, f"elements.{k}") for k in range(size)], axis=1).astype(np.uint16)
    # Blocks of a strip of columns stand side by side.
    strips = turned.reshape(columns // size, rows // size, size, size).transpose(0, 2, 1, 3)
    return np.ascontiguousarray(strips.reshape(columns, rows)).view(data.dtype)


def quantise(play: Play, tile: np.ndarray, dtype: np.dtype, rule: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the x4 words [P, F] and the scales [P/8, F] of a bfloat16 tile [P, 4F]."""
    blocks = np.ascontiguousarray(tile).reshape(len(tile), -1, 4)
    free = blocks.shape[1]
    mode = Mode(BF16, format_of(dtype), ScaleRule(rule))
    left = play("quantize_mx", (tile_blocks(blocks.view(np.uint16)), mode.name))
    elements = blocks_tile(left["codes"], free).reshape(tile.shape).view(dtype)
    return pack_x4(elements), left["scales"].reshape(-1, free)


def multiply(
    play: Play,
    dtype: np.dtype | tuple[np.dtype, np.dtype],
    stationary: np.ndarray,
    moving: np.ndarray,
    scales: Sequence[np.ndarray],
    tile: Mapping[str, int] | None = None,
) -> np.ndarray:
    """Return the MX product, float32 [M, N], of x4 words [P, M] and [P, N] and their scales in rows of quadrants.

    ``dtype`` is that of their elements, or one for each; ``tile`` has tile_row and tile_rows of a MatmulInstruction.
    """
    count = len(scales) // 2
    dtypes = dtype if isinstance(dtype, tuple) else (dtype, dtype)
    sides = zip((stationary, moving), dtypes, strict=True)
    x, weight = (unpack_x4(words, each).reshape(len(words), -1, 4) for words, each in sides)
    x_scale, weight_scale = (np.vstack(each) for each in (scales[:count], scales[count:]))
    instruction = trainium3.MatmulInstruction(
        stationary=x,
        moving=weight,
        stationary_scale=x_scale,
        moving_scale=weight_scale,
        psum_accumulate_flag=AccumulateFlag(3),
        output=(slice(0, x.shape[1]), slice(0, weight.shape[1])),
        **(tile or {}),
    )
    return play("tensor_engine", [instruction])["output"].view(np.float32)


def matmul(play: Play, stationary: np.ndarray, moving: np.ndarray, mode: str = "bf16") -> np.ndarray:
    """Return the product in a mode of the array, float32 [M, N], of [K, M] and [K, N] with K up to 128."""
    wide = (np.ascontiguousarray(each.astype(np.float32)) for each in (stationary.T, moving))
    program = trainium3.mode_program(*wide, mode)
    # The last pass over the rows ends with all of K.
    codes = play("core_array", program)["results_0"][-1][: stationary.shape[1]]
    return np.ascontiguousarray(codes.astype(np.uint32)).view(np.float32)


def accumulate(play: Play, columns: int, present: np.ndarray, product: np.ndarray) -> np.ndarray:
    """Return PSUM, of `columns` columns, after a product is added to it, float32 [M, N]."""
    parts = []
    for values in (present, product):
        padded = np.pad(values.view(np.uint32), ((0, -len(values) % columns), (0, 0)))
        parts.append(padded.reshape(-1, columns, values.shape[1]).transpose(0, 2, 1))
    flags = (AccumulateFlag.FIRST_OVERWRITE, AccumulateFlag.FIRST_ACCUMULATE)
    groups = [
        [(int(flag | AccumulateFlag.LAST), words) for flag, words in zip(flags, pair, strict=True)]
        for pair in zip(*parts, strict=True)
    ]
    left = play("psum", groups)
    tiles = [left[f"group_{number}"].T for number in range(len(groups))]
    return np.ascontiguousarray(np.vstack(tiles)[: len(present)].astype(np.uint32)).view(np.float32)


def move(play: Play, config: DmaEngineConfig, data: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Return all elements as a DMA engine writes them, cast to a dtype, in the longest descriptors."""
    elements, pair = data.reshape(-1).view(np.uint8), COPY
    if dtype != data.dtype:
        elements, pair = data.reshape(-1), (DTYPE_NAMES[data.dtype], DTYPE_NAMES[dtype])
    wider = max(elements.itemsize, dtype.itemsize if pair != COPY else 1)
    parts = _longest(elements, wider)
    return _moved(play, [single_load(config, part.tobytes(), Move(0, 0, part.size, pair)) for part in parts], dtype)


def add(play: Play, config: DmaEngineConfig, present: np.ndarray, more: np.ndarray) -> np.ndarray:
    """Return the sums that a DMA engine leaves when it adds elements, bfloat16 or float32, to those present."""
    name = DTYPE_NAMES[more.dtype]
    parts = zip(*(_longest(each.reshape(-1), each.itemsize) for each in (more, present)), strict=True)
    loads = [
        single_load(config, part.tobytes(), Move(0, 0, part.size, (name, name), ADDS[name]), before.tobytes())
        for part, before in parts
    ]
    return _moved(play, loads, more.dtype)


def _longest(elements: np.ndarray, wider: int) -> list[np.ndarray]:
    """Return the elements of each of the longest descriptors; ``wider`` is the bytes of one on its wider side."""
    most = MAX_DESCRIPTOR_BYTES // wider
    return [elements[first : first + most] for first in range(0, elements.size, most)]


def _moved(play: Play, loads: Sequence[Load], dtype: np.dtype) -> np.ndarray:
    images = play("dma_engine", loads)["images"]
    return np.concatenate([image[: load.used] for image, load in zip(images, loads, strict=True)]).view(dtype)


def dma_transpose(play: Play, config: DmaTransposeConfig, data: np.ndarray) -> np.ndarray:
    """Return elements of 2 or 4 bytes with the first and the last axis exchanged, as a DMA engine of 8 partitions has them.

    It takes its partitions, columns of the last axis, one part after the other, each at the bottom of its source.
    """
    codes = _bits(data)
    count = codes.shape[-1]
    parts = [codes[..., first : first + config.columns] for first in range(0, count, config.columns)]
    jobs = [(Job(part.shape, data.itemsize, 0, 0, part.shape[-1]), part.tobytes()) for part in parts]
    left = play("dma_transpose", jobs)
    tables = np.split(left["words"], np.cumsum(left["counts"])[:-1])
    moved = [placed(job, config, table) for (job, _), table in zip(jobs, tables, strict=True)]
    return np.concatenate(moved).view(data.dtype).reshape(count, *data.shape[1:-1], len(data))


def rand2(play: Play, states: np.ndarray, low: np.ndarray, high: np.ndarray, count: int, dtype: np.dtype) -> np.ndarray:
    """Return uniform numbers [P, count] of a dtype from the generators' states, uint32 [P, 4, 6], and limits, float32 [P, 1]."""
    numbers = play("xorwow", (states, -(-count // XORWOW_STATES)))["numbers"]
    layout = rand2_beat(Rand2Config())
    words = []
    for row, limits in zip(numbers, _fp32_codes(np.hstack([low, high])).tolist(), strict=True):
        fixed = pack(layout, {"low": limits[0], "high": limits[1], "dtype": Dtype[DTYPE_NAMES[dtype].upper()]})
        words += [fixed | int.from_bytes(each.astype("<u4").tobytes(), "little") for each in row]
    table = _words(play, "rand2_lane", {"i": words}, len(words))
    elements = np.ascontiguousarray(table[:, : XORWOW_STATES * dtype.itemsize]).view(dtype)
    return elements.reshape(len(states), -1)[:, :count]


def exponentiate(play: Play, data: np.ndarray, largest: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return ``exp(data - largest)``, float32 [P, F], and its sums, [P, 1]; data is bfloat16 or float32, largest float32 [P, 1]."""
    config = ExponentialConfig()
    layout, width = beat_layout(config), config.width
    rows, columns = data.shape
    # Codes of 16 bits take the upper half.
    codes = np.pad(_bits(data).astype(np.uint32), ((0, 0), (0, -columns % width))) << (WORD_BITS - 8 * data.itemsize)
    words = []
    for row, maximum in zip(codes.reshape(rows, -1, width), largest.view(np.uint32).ravel(), strict=True):
        for place, elements in enumerate(row):
            control = {
                "reduce": Reduce.REDUCE if place else Reduce.RESET_REDUCE,
                "count": min(width, columns - place * width),
            }
            fields = {
                "elements": elements.tolist(),
                "max_value": int(maximum),
                "source": Source[format_of(data.dtype).name],
                "control": control,
            }
            words.append(pack(layout, fields))
    table = _words(play, "exponential", {"i": words}, len(words))
    result = result_layout(config)
    powers = np.stack([field(result, table, f"powers.{k}") for k in range(width)], axis=1)
    sums = field(result, table, "sum").reshape(rows, -1)[:, -1:]
    values = powers.reshape(rows, -1)[:, :columns]
    return tuple(np.ascontiguousarray(each.astype(np.uint32)).view(np.float32) for each in (values, sums))
