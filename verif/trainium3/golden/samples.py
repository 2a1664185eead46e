"""A call of every public function of Trainium3's golden model, by its name: the smallest arguments that it takes."""

from fractions import Fraction

import ml_dtypes
import numpy as np

from bitpath.golden import trainium3
from bitpath.golden.arrays.codec import DTYPES, codes_of, format_of
from bitpath.golden.formats.catalogue import BF16, E2M1, E4M3FN, E5M2, FP32, FloatFormat, Rounding
from bitpath.golden.formats.dot import DotNumerics
from bitpath.golden.scalar.dot import DotTrace, trace_dot_product
from bitpath.golden.trainium3.declarations.quad_mx import TRAINIUM3_QUAD_MX, ScaleRule
from bitpath.golden.trainium3.declarations.rates import TRAINIUM3
from bitpath.golden.trainium3.declarations.vector import (
    TRAINIUM3_EXPONENTIAL,
    TRAINIUM3_MATMUL,
    TRAINIUM3_RMSNORM_QUANT,
    EpsPlacement,
    SumOrder,
)

# Outputs of matmul instructions by the exact twin, from the operands that the arrays take.


Side = tuple[np.ndarray, FloatFormat, np.ndarray]
"""Codes [P, F, 4], their format, and the codes of a scale for each row [P, F], as `chain_rows` takes them."""


def column_steps(
    numerics: DotNumerics, stationary: Side, moving: Side, m: int, n: int, start: int = 0
) -> tuple[DotTrace, ...]:
    """Return the steps of output [m, n] from the partial sum `start`."""
    (x, x_format, x_scale), (y, y_format, y_scale) = stationary, moving
    codes = x[:, m].tolist(), x_format, y[:, n].tolist(), y_format
    return trace_dot_product(numerics, *codes, x_scale[:, m].tolist(), y_scale[:, n].tolist(), int(start))


def instruction_side(data: np.ndarray, scale: np.ndarray) -> Side:
    """Return an operand of nc_matmul_mx as the array takes it: FP4 as E4M3FN, which holds every FP4 number."""
    if format_of(data.dtype) is E2M1:
        data = data.astype(np.float32).astype(DTYPES[E4M3FN])
    return codes_of(data), format_of(data.dtype), scale.repeat(8, axis=0)


E4, BFLOAT = ml_dtypes.float8_e4m3fn, ml_dtypes.bfloat16
CODES, SCALE = np.ones((32, 2, 4), E4), np.full((4, 2), 127, np.uint8)
MATRIX, GAMMA = np.ones((4, 4), np.float32), np.ones(4, BFLOAT)
STATE = np.arange(24, dtype=np.uint32).reshape(1, 4, 6)
WORDS = [1, 2, 3, 4, 5, 6]
NUMERICS, ROWS = TRAINIUM3_QUAD_MX.numerics, TRAINIUM3_RMSNORM_QUANT.numerics
MULTIPLY = {"op0": "add", "operand0": 1.0}
TILE = {"tile_size": (32, 128), "tile_position": (0, 0), "psum_accumulate_flag": 3}
AFFINE = {"pattern": ((4, 2), (1, 2)), "offset": 3, "channel_multiplier": -2}
PROGRAM, RIGHT = trainium3.matmul_program(MATRIX, MATRIX), trainium3.prepare(MATRIX[np.newaxis])
STEP = {
    "numerics": NUMERICS,
    "stationary_codes": [0x38, 0x39, 0xB8, 1],
    "stationary_format": E4M3FN,
    "moving_codes": [0x3C, 0x3C, 0x3D, 0x7B],
    "moving_format": E5M2,
    "stationary_scale": 127,
    "moving_scale": 127,
    "partial_sum": 0x3F800001,
}

INDEX, ROWS_OF_TABLE = np.arange(16, dtype=np.uint32).reshape(16, 1), np.arange(4, dtype=np.int32).reshape(4, 1)
COLUMNS = np.ones((16, 16), np.uint16)
EIGHT = {"row": [*range(9)], "source": "int8", "values": [*range(8)], "values_source": "uint8"}
SBUF_WORDS = trainium3.AccessPattern(np.float32, 32, 4, 1, ((1, 2), (2, 3)))
HBM_WORDS = trainium3.HbmPattern(np.float32, 1, ((8, 4), (1, 6)))


def filled(memory, ap):
    """Return a memory with zeros at a pattern."""
    memory.write(ap, np.zeros(ap.shape, ap.dtype))
    return memory


VECTORISED = {
    "AccessPattern": {
        "dtype": np.dtype(np.float32),
        "start": 32,
        "partitions": 4,
        "offset": 1,
        "pattern": ((1, 2), (2, 3)),
        "dma": False,
    },
    "Hbm": {"size": 1024},
    "Hbm.read": {"self": lambda: filled(trainium3.Hbm(1024), HBM_WORDS), "ap": HBM_WORDS},
    "Hbm.write": {
        "self": lambda: trainium3.Hbm(1024),
        "ap": HBM_WORDS,
        "values": np.ones(HBM_WORDS.shape, np.float32),
    },
    "HbmPattern": {"dtype": np.dtype(np.float32), "offset": 1, "pattern": ((8, 4), (1, 6))},
    "Psum.accumulate": {
        "self": trainium3.Psum,
        "ap": SBUF_WORDS,
        "incoming": np.ones(SBUF_WORDS.shape, np.uint32),
        "flag": 3,
    },
    "Psum.is_open": {"self": trainium3.Psum, "ap": SBUF_WORDS},
    "Psum.read": {"self": lambda: filled(trainium3.Psum(), SBUF_WORDS), "ap": SBUF_WORDS},
    "Psum.write": {"self": trainium3.Psum, "ap": SBUF_WORDS, "values": np.ones(SBUF_WORDS.shape, np.float32)},
    "Sbuf": {"partitions": 4, "partition_bytes": 64},
    "MatmulInstruction": {name: getattr(PROGRAM[0], name) for name in trainium3.MatmulInstruction.__annotations__},
    "Xorwow": {"state": STATE},
    "Xorwow.next": {"self": lambda: trainium3.Xorwow(STATE), "n": 3},
    "Xorwow.elements": {"self": lambda: trainium3.Xorwow(STATE), "count": 5},
    "activate2": {"data": MATRIX, "op": "prelu", "op0": "multiply", "op1": "add"},
    "activation": {"data": MATRIX, "op": "copy"},
    "activation_reduce": {"data": MATRIX, "op": "square"},
    "affine_select": {"on_true_tile": MATRIX, "on_false_value": 2.0} | AFFINE,
    "bn_aggr": {"data": MATRIX[:, :3]},
    "bn_stats": {"data": MATRIX},
    "choose_mode": {},
    "copy_elements": {
        "destination": trainium3.Sbuf(64, 64),
        "dst_ap": SBUF_WORDS,
        "source": filled(trainium3.Sbuf(64, 64), SBUF_WORDS),
        "src_ap": SBUF_WORDS,
    },
    "dequantize": {"data": np.ones((32, 8), E4), "scale": SCALE},
    "descriptors": {"dst_ap": SBUF_WORDS, "src_ap": HBM_WORDS},
    "dropout": {"source": lambda: trainium3.Xorwow(STATE), "data": MATRIX[:1], "prob": 0.5},
    "dma_gather": {"dst": MATRIX, "table": MATRIX, "indices": ROWS_OF_TABLE},
    "dma_gather_transpose": {"src": COLUMNS, "indices": INDEX, "count": 16, "dst": COLUMNS, "oob": "skip"},
    "dma_scatter": {"table": MATRIX, "indices": ROWS_OF_TABLE, "src": MATRIX},
    "dma_transpose": {"src": COLUMNS, "axes": (1, 0)},
    "engine_cycles": {
        "engine": "vector",
        "op": "tensor_copy",
        "n": 512,
        "dtypes": (BFLOAT, "tf32"),
        "places": ("sbuf", "psum"),
        "inner_bytes": (2, 4),
    },
    "exponential": {"src": MATRIX, "max_value": 1.0},
    "fetch_scales": {"tile": np.ones((32, 2), np.uint8), "data_partitions": 32, "offset": 4},
    "flow_latency": {"rates": TRAINIUM3.numerics, "tokens": 1000, "hidden_size": 100},
    "flow_timeline": {"rates": TRAINIUM3.numerics, "tokens": 1000, "hidden_size": 100, "buffers": 3},
    "from_partitions": {"tile": CODES},
    "gather": {"data": COLUMNS, "index": INDEX, "num_elem": 3, "engine": "vector"},
    "gather_scale": {"tile": np.ones((32, 2), np.uint8), "offset": 4},
    "generation_time": {"dge_mode": "swdge", "descriptors": 8},
    "indirect_offsets": {"index": INDEX, "num_elem": 3, "engine": "vector"},
    "iota": {"partitions": 3} | AFFINE,
    "latency_rows": {},
    "latency_table": {},
    "local_gather": {"src_buffer": COLUMNS, "index": COLUMNS, "num_elem_per_idx": 2, "num_valid_indices": 20},
    "matmul": {"a": MATRIX, "b": MATRIX},
    "matmul_program": {"a": MATRIX, "b": MATRIX},
    "max8": {"src": COLUMNS},
    "linear_w8a8": {"x": MATRIX, "w": MATRIX, "gamma": GAMMA},
    "matmul_mode": {"a": MATRIX, "b": MATRIX, "mode": "bf16"},
    "multiply": {"a": MATRIX[np.newaxis], "right": RIGHT},
    "multiply_mode": {"a": MATRIX[np.newaxis], "right": trainium3.prepare_mode(MATRIX[np.newaxis], mode="bf16")},
    "memset": {"shape": (2, 3), "value": 1.5},
    "nc_find_index8": {"data": COLUMNS, "vals": COLUMNS[:, :8]},
    "nc_match_replace8": {"data": COLUMNS, "vals": COLUMNS[:, :8], "imm": 0.0},
    "nc_matmul": {"stationary": MATRIX, "moving": MATRIX} | TILE,
    "nc_matmul_mx": {
        "stationary": CODES,
        "moving": CODES,
        "stationary_scale": SCALE,
        "moving_scale": SCALE,
        "stationary_scale_offset": 0,
        "moving_scale_offset": 0,
    }
    | TILE,
    "nc_n_gather": {"data": COLUMNS, "indices": INDEX},
    "nc_stream_shuffle": {"dst": MATRIX, "src": MATRIX, "shuffle_mask": [1, 255] * 16},
    "nonzero_with_count": {
        "dst": np.zeros((17, 5), np.int32),
        "src": np.ones((17, 4), np.float32),
        "index_offset": 7,
        "padding_val": -2,
    },
    "operand_tiles": {"matrix": MATRIX},
    "pack_x4": {"data": np.ones((1, 4), E4)},
    "multiply_w8a8": {
        "data": MATRIX.astype(ml_dtypes.float8_e4m3),
        "scale": MATRIX[:, :1],
        "right": trainium3.prepare_w8a8(MATRIX),
    },
    "prepare": {"b": MATRIX[np.newaxis]},
    "prepare_w8a8": {"w": MATRIX},
    "quantize_channels": {"w": MATRIX},
    "prepare_mode": {"b": MATRIX[np.newaxis], "mode": "bf16"},
    "psum_random_bits": {"source": lambda: trainium3.Xorwow(STATE), "columns": 3, "writes": 2},
    "quantize_mx": {"src": np.ones((32, 4), BFLOAT), "dtype": E4},
    "quantize_offline": {"x": np.ones((32, 4), np.float64), "dtype": E4},
    "quantize_tile": {"tile": np.ones((32, 2, 4), BFLOAT), "format_name": "mxfp8_e4m3"},
    "rand2": {"source": lambda: trainium3.Xorwow(STATE), "count": 3, "low": 0.0, "high": 1.0},
    "range_select": {
        "on_true_tile": MATRIX,
        "comp_op0": "less",
        "comp_op1": "greater",
        "bound0": MATRIX[:, :1],
        "bound1": MATRIX[:, :1],
        "range_start": 3,
    },
    "rates_table": {},
    "reciprocal": {"data": MATRIX},
    "rng": {"source": lambda: trainium3.Xorwow(STATE), "count": 3},
    "rmsnorm": {"hidden": MATRIX, "gamma": GAMMA},
    "rmsnorm_quant": {"hidden": MATRIX, "gamma": GAMMA, "shards": 2},
    "rmsnorm_quant_reference": {"hidden": MATRIX, "gamma": np.ones(4, np.float32)},
    "round_to_bfloat16": {"x": MATRIX},
    "run_program": {"program": PROGRAM},
    "scalar_tensor_tensor": {"data": MATRIX, "op1": "add", "operand1": MATRIX} | MULTIPLY,
    "scatter": {"dst": COLUMNS, "index": INDEX, "src": COLUMNS[:, :3], "engine": "vector"},
    "scatter_scale": {"scale": SCALE, "offset": 4},
    "sequence_bounds": {"segment_ids": np.array([[0, 1, 1, 2]], np.int32)},
    "softmax": {"data": MATRIX},
    "tensor_copy": {"data": MATRIX, "dtype": "tf32"},
    "tensor_partition_reduce": {"data": MATRIX, "op": "average"},
    "seeded_state": {"seed": 77, "lanes": 2},
    "select_reduce": {"predicate": np.eye(4, dtype=np.uint8), "on_true": MATRIX, "on_false": 0.0},
    "tensor_copy_predicated": {"dst": MATRIX, "src": MATRIX, "predicate": np.eye(4, dtype=np.uint8)},
    "tensor_reduce": {"data": MATRIX, "op": "add"},
    "tensor_scalar": {"data": MATRIX} | MULTIPLY,
    "tensor_scalar_cumulative": {"src": MATRIX, "op0": "multiply", "op1": "add", "imm0": 2.0},
    "tensor_scalar_reduce": {"data": MATRIX, "op0": "abs", "reduce_op": "max"},
    "tensor_tensor": {"a": MATRIX, "b": MATRIX, "op": "add"},
    "tensor_tensor_scan": {"data0": MATRIX, "data1": MATRIX, "initial": 0.0, "op0": "multiply", "op1": "add"},
    "tile_latency": {"rates": TRAINIUM3.numerics, "hidden_size": 100, "rows": 100},
    "tile_program": {"stationary": [(CODES, SCALE)], "moving": [(CODES, SCALE)]},
    "to_partitions": {"x": np.ones((128, 2))},
    "topk": {
        "val_dst": np.ones((16, 2), BFLOAT),
        "idx_dst": np.ones((16, 2), np.uint32),
        "src": np.ones((16, 1), BFLOAT),
        "n": 9,
    },
    "transpose_cycles": {"shape": (512, 128), "itemsize": 2},
    "unpack_rows": {"packed": np.ones((2, 6), np.uint8)},
    "unpack_x4": {"words": np.ones((1, 1), np.uint32), "dtype": E4},
}
EXACT = {
    "activate2": {
        "row": [1, 2],
        "source": "bf16",
        "op": "copy",
        "operations": ("multiply", "add"),
        "immediates": (0, 0x3F800000),
        "relu_param": 0x3F800000,
        "register": 0x40000000,
    },
    "add_residual": {"numerics": ROWS, "row": [0x3F80], "residual": [0x3F80], "source": BF16},
    "affine_select": {
        "partition": 2,
        "row": [1, 2, 3, 4],
        "source": "bf16",
        "on_false": 0x3F800000,
        "cmp_op": "less",
        "dtype": "fp32",
    }
    | AFFINE,
    "bn_aggr_row": {"row": [0x3F80, 0x4000, 0x4040], "source": "bf16"},
    "bn_stats_row": {"row": [0x3F80, 0x4000, 0x4040], "source": "bf16"},
    "check_formats": {"numerics": TRAINIUM3_MATMUL.numerics, "x_format": BF16, "y_format": BF16},
    "column_bits": {"words": WORDS[:4], "column": 3},
    "copy_row_predicated": {"row": [1, 2], "source": [3, 4], "predicate": [0, 1]},
    "cumulate_row": {
        "row": [0x3F80, 0x4000],
        "source": "bf16",
        "operators": ("multiply", "subtract"),
        "immediate": 0x40000000,
        "register": 0x3F800000,
    },
    "dequantize_sum": {
        "total": 0x3F800001,
        "channel_scale": 0x3F000001,
        "row_scale": 0x40000001,
        "destination": BF16,
    },
    "dropout_element": {"code": 5, "word": 6, "prob": 7},
    "exponential": {"numerics": TRAINIUM3_EXPONENTIAL.numerics, "source": 0x3F800000, "max_value": 0x40000000},
    "iota": {"partition": 2, "dtype": "bf16"} | AFFINE,
    "load_row": {"numerics": ROWS, "hidden": WORDS, "source": BF16},
    "local_gather": {
        "rows": [WORDS] * 16,
        "index": [WORDS[:2]] * 16,
        "num_elem_per_idx": 2,
        "num_valid_indices": 3,
    },
    "find_index8_row": EIGHT,
    "match_replace8_row": EIGHT | {"immediate": 0x3F800000},
    "max8_row": {"row": [*range(9)], "source": "int8"},
    "memset_element": {"value": 1.5, "dtype": "bf16"},
    "multiply_add": {
        "numerics": TRAINIUM3_MATMUL.numerics,
        "x": 0x3F80,
        "x_format": BF16,
        "y": 0x3F81,
        "y_format": BF16,
        "partial_sum": 0x3F800001,
    },
    "nc_n_gather": {"row": WORDS, "indices": [5, 0]},
    "nc_stream_shuffle": {"dst": [WORDS], "src": [WORDS], "shuffle_mask": [0] * 32},
    "nonzero_with_count": {"row": WORDS, "source": "int32", "index_offset": 7, "padding_val": -2},
    "power": {"x": 0x40000000, "y": 0x3F000000},
    "psum_write": {
        "incoming": 0x3F800001,
        "present": 0x3F80,
        "destination": BF16,
        "rounding": Rounding.SR,
        "random_bits": 65535,
    },
    "quantize_block": {
        "source_codes": [0x3F80 + i for i in range(32)],
        "source": BF16,
        "element": E4M3FN,
        "rule": ScaleRule.OCP,
    },
    "quantize_channel": {"numerics": ROWS, "column": [0x3F800000, 0x40000000]},
    "quantize_row": {"numerics": ROWS, "row": [0x3F80, 0x4000]},
    "quantize_row_static": {"numerics": ROWS, "row": [0x3F80, 0x4000], "in_scale": 0x3F800000},
    "reduce_row": {"row": [0x3F800000, 0x40000000], "op": "multiply", "register": 0x40400000},
    "reference_row": {
        "numerics": ROWS,
        "row": [0x3F800000],
        "gamma": [0x3F800000],
        "eps": 0,
        "sum_order": SumOrder.SERIAL,
    },
    "rmsnorm_row": {
        "numerics": ROWS,
        "hidden": [0x3F80, 0x4000],
        "gamma": [0x3F80, 0x3F80],
        "source": BF16,
        "gamma_source": BF16,
        "eps": Fraction(1, 1024),
        "eps_placement": EpsPlacement.KERNEL,
        "sum_order": SumOrder.SERIAL,
    },
    "rng_element": {"word": 0x101, "dtype": "int8"},
    "row_bytes": {"codes": [1, 2], "scale": 0x3F800000},
    "sequence_bounds": {"segments": [0, 1, 1, 2]},
    "scan_row": {
        "first": [0x3F80, 0x4000],
        "first_source": "bf16",
        "second": [1, 2],
        "second_source": "int8",
        "operators": ("multiply", "add"),
        "initial": 0x3F800000,
    },
    "seed_word": {"seed": 77, "lane": 3, "state": 2, "word": 1},
    "select_range": {
        "row": [0x3F80, 0x4000],
        "source": "bf16",
        "comparisons": ("less", "greater"),
        "bounds": (0x40000000, 0x3F800000),
        "range_start": 1,
        "register": 0x3F800000,
    },
    "select_row": {
        "predicate": [0, 1],
        "on_true": [0x3F80, 0x4000],
        "source": "bf16",
        "on_false": 0x3F800000,
        "register": 0x3F800000,
    },
    "softmax": {"row": [0x3F80, 0x4000], "source": "bf16"},
    "tensor_partition_reduce": {"column": WORDS, "source": "bf16", "op": "average", "dtype": "fp32"},
    "tensor_tensor": {"x": 1, "x_dtype": "int8", "y": 2, "y_dtype": "uint8", "op": "left_shift", "dtype": "int8"},
    "topk": {"elements": WORDS, "k": 3},
    "uniform": {"word": 0x80000001, "low": 0, "high": 0x3F800000},
    "xorwow_lane": {"states": [WORDS] * 4},
    "xorwow_step": {"state": WORDS},
}
CODES_OF_STEP = {name: value for name, value in STEP.items() if not name.endswith("_scale")}
STEPS = {
    "dot_step": STEP,
    "trace_dot_step": STEP,
    "trace_dot_product": {
        **CODES_OF_STEP,
        "stationary_codes": [STEP["stationary_codes"]] * 2,
        "moving_codes": [STEP["moving_codes"]] * 2,
        "stationary_scales": [127, 128],
        "moving_scales": [127, 126],
    },
}
SHARED = {
    "floor_log2": {"value": Fraction(3, 7)},
    "round_to_format": {"value": Fraction(3, 7), "fmt": FP32, "zero_sign": 1},
    "round_to_integer": {"value": Fraction(3, 7), "mode": Rounding.RNE},
    "ulp": {"fmt": BF16, "value": Fraction(3, 7)},
    **{name: {"x": 0x3F800001} for name in ("reciprocal", "square_root", "reciprocal_square_root", "absolute")},
    **{name: {"x": 0x3F800001, "y": 0x40000001} for name in ("add", "multiply", "divide", "maximum", "minimum")},
    "convert": {"code": 0x3F800001, "source": FP32, "destination": BF16},
}
