"""A call of every public function of Tensix's golden model, by its name: the smallest arguments that it takes.

The samples compute little, since test workers import them at the same time, before any kernel has been compiled.
"""

import numpy as np

from bitpath.golden import tensix
from bitpath.golden.formats.catalogue import BF16, E4M3FN, E5M2, FP16, FP32, TF32, Rounding
from bitpath.golden.tensix import isa, llk, sfpu
from bitpath.golden.tensix.convert.unpack import UnpackControl
from bitpath.golden.tensix.declarations.formats import COLUMNS, Format, Style
from bitpath.golden.tensix.declarations.numerics import WORMHOLE
from bitpath.golden.tensix.declarations.quasar import MX_FORMATS
from bitpath.golden.tensix.exact import Source, dot16_integer, trace_dot16
from bitpath.verif.common.boundary_codes import codes, crossing

# Words of Dst for tests, and the scalar tier of MVMUL on one of them.


# Scalar tier of MVMUL on one Dst word, in every style.


def scalar_dot(numerics, dst, b, a, **options):
    if options["style"] is Style.INT8:
        return dot16_integer(numerics, dst, b, a, options["phase"])
    return trace_dot16(numerics, dst, b, a, **options).result


# Words of Dst for tests of conversions.


BOUNDARIES = sorted({code for fmt in (BF16, FP16, TF32, E5M2, E4M3FN) for code in crossing(FP32, fmt)})
"""FP32's boundary codes, and its codes next to the boundaries and ties of the narrower formats."""


def words32(rng, count=6000):
    """Return `BOUNDARIES`, `count` random words, and as many of them as words of every exponent with a fraction near a tie."""
    half = count // 2
    any_word = rng.integers(0, 1 << 32, half)
    near = rng.integers(0, 2, half) << 31 | rng.integers(0, 256, half) << 23
    near |= rng.choice([0, 1, 0xFFF, 0x1000, 0xFFFF, 0x8000, 0x18000, 0x7F7FFF, 0x7F8000, 0x7EFFFF, 0x7FFFFF], half)
    words = np.concatenate([BOUNDARIES, any_word, near]).astype(np.uint32)
    return words[: len(words) // COLUMNS * COLUMNS]


def words16(rng, count):
    """Return the boundary codes of BF16 and FP16, and `count` random words, at most one of each."""
    words = np.concatenate([codes(BF16), codes(FP16), rng.permutation(1 << 16)[:count]]).astype(np.uint32)
    return words[: len(words) // COLUMNS * COLUMNS]


NUMERICS = WORMHOLE.numerics
MATRIX = np.ones((2, 32), np.float32)
ROWS, SQUARE = np.full((8, 16), 0x1FC08, np.uint32), np.full((16, 16), 0x1FC08, np.uint32)
OPERANDS = {"dst": ROWS, "src_b": ROWS, "src_a": SQUARE, "style": "BF16", "dst32": True}
CODES = {"srca_format": 5, "srcb_format": 6}
ELEMENTS = {**OPERANDS, "src_a": ROWS, **CODES}
PROGRAM = tensix.matmul_program(MATRIX, MATRIX.T, block=(4, 2))
RIGHT = tensix.prepare(MATRIX.T[np.newaxis])
INTEGERS = np.arange(-64, 64).reshape(4, 32)
RIGHT_INT8 = tensix.prepare_int8(INTEGERS.T[np.newaxis], descaled=True)
INSTRUCTION = {"phase": 3, "src_b_row": 8, "src_a_row": 16, "dst_row": 24}
WORD = 0x3F812345
PACKED = {
    "dst": np.arange(1 << 16, 48 + (1 << 16), dtype=np.uint32) << np.uint32(14),
    "mid_format": 5,
    "out_format": 5,
    "dst32": True,
    "relu": 3,
    "relu_threshold": 0x3F80,
    "edge_mask": 0xFFF,
    "exponent_threshold": 127,
    "descale_shift": 0,
}

MOVED = {"dst": ROWS, "srca_format": 5}
UNPACKED = {
    "l1": np.arange(128, dtype=np.uint8),
    "in_format": 6,
    "out_format": 5,
    "count": 96,
    "forced_exponent": 127,
}
CONTROL = {
    "in_format": 5,
    "out_format": 5,
    "forced_exponent": None,
    "row_stride": None,
    "col_shift": 3,
    "upsample_rate": 1,
}
TILISED = {**CONTROL, "row_stride": 32, "col_shift": 0, "upsample_rate": 0, "forced_exponent": 127}

VECTORISED = {
    "MvmulInstruction": INSTRUCTION,
    "Core": {"chip": "blackhole", "l1_bytes": 64},
    "Core.mop_config": {"self": lambda: tensix.Core(l1_bytes=64), "thread": 1, "words": [0] * 9},
    "Core.push": {"self": lambda: tensix.Core(l1_bytes=64), "thread": 1, "words": [2 << 24]},
    "Core.run": {"self": lambda: tensix.Core(l1_bytes=64), "order": "thread_first"},
    "Prng": {"seed": 7},
    "Program": {name: getattr(PROGRAM, name) for name in tensix.Program.__annotations__},
    "UnpackControl": TILISED,
    "broadcast_src_b": {"src_b": np.arange(128, dtype=np.uint32).reshape(8, 16), "row": 3},
    "elwadd": ELEMENTS,
    "elwmul": {**ELEMENTS, "phase": 3},
    "elwsub": ELEMENTS,
    "from_physical": {"words": ROWS, "layout": "SRC"},
    "gapool": {**OPERANDS, "phase": 3, **CODES},
    "gmpool": {**OPERANDS, **CODES},
    "matmul": {"a": MATRIX, "b": MATRIX.T, "block_k": 32, "partials": "spill_tf32"},
    "matmul_int8": {"a": INTEGERS, "b": INTEGERS.T, "descaled": True, "descale_shift": 9},
    "matmul_program": {
        "a": MATRIX,
        "b": MATRIX.T,
        "block": (4, 2),
        "packing": tensix.Packing(result=tensix.Format.BF16),
    },
    "mova2d": {**MOVED, "src_a": ROWS},
    "movb2a": {"src_b": ROWS, "srcb_format": 5},
    "movb2d": {**MOVED, "src_b": ROWS, "srcb_format": 6},
    "movd2a": {**MOVED, "dst32": True},
    "multiply": {"a": MATRIX[np.newaxis], "right": RIGHT, "block_k": 32},
    "multiply_int8": {"a": INTEGERS[np.newaxis], "right": RIGHT_INT8},
    "mvmul": {**OPERANDS, "phase": 3, **CODES},
    "mvmul_row": {
        **{name: value for name, value in OPERANDS.items() if name != "src_b"},
        "src_b_row": ROWS[:1],
        "phase": 3,
        **CODES,
    },
    "mx_pack": {"x": MATRIX, "format": "MXFP4"},
    "mx_unpack": {"l1": np.arange(64, dtype=np.uint8), "format": "MXINT4", "count": 96},
    "pack": PACKED,
    "phases": {"fidelity": "HiFi4"},
    "prepare": {"b": MATRIX.T[np.newaxis]},
    "product_program": {"a": MATRIX, "b": MATRIX.T, "block_k": 32, "partials": "l1_bf16"},
    "prepare_int8": {"b": INTEGERS.T[np.newaxis], "descaled": True, "descale_shift": 9},
    "result_matrix": {"program": PROGRAM, "dst": np.arange(1024, dtype=np.uint32).reshape(1, 1, 64, 16)},
    "run_program": {"program": PROGRAM},
    "schedule": {"plan": PROGRAM, "pack_rows": 1, "block": (2, 1), "clear": 4},
    "Packing": {"result": 5, "relu": 2, "relu_threshold": 0x3F00, "descale_shift": 3},
    "packed_matrix": {"program": PROGRAM, "codes": np.arange(1024, dtype=np.uint32).reshape(1, 1, 64, 16)},
    "packed_tiles": {"program": PROGRAM, "dst": np.arange(1024, dtype=np.uint32).reshape(1, 1, 64, 16)},
    "riscv_store": {"values": np.arange(64, 192, dtype=np.uint8), "format": 5},
    "sfp_stoch_rnd": {"x": ROWS, "mode": 5, "shift": 2},
    "sfpload": {"words": ROWS & np.uint32(0xFFFF), "mode": 15, "lanes": ROWS},
    "sfpstore": {"lanes": ROWS, "mode": 4},
    "tile_image": {"tile": np.ones((64, 16), np.float32), "format": "bf16"},
    "tile_instructions": {"fidelity": "HiFi2"},
    "tilize": {"matrix": MATRIX},
    "unpack_cycles": {"format": 6, "throttle": 1},
    "to_physical": {"words": ROWS, "layout": "SRC"},
    "trnspsrcb": {"src_b": SQUARE},
    "unpack": UNPACKED,
    "unpack_tile": {
        "l1": np.arange(128, dtype=np.uint8),
        "control": UnpackControl(**CONTROL),
        "first_datum": 16,
        "count": 17,
        "tile_datums": 48,
    },
    "unpack_to_dst": UNPACKED,
    "untilize": {"tiles": np.arange(1024).reshape(1, 1, 64, 16)},
}
CASE = {
    "op": "matmul",
    "in_a": 7,
    "in_b": 6,
    "register_format": 5,
    "register_b": 6,
    "mid_format": 5,
    "out_format": 6,
    "tile": (32, 32),
    "pack_rows": 64,
    "dimensions_a": (32, 64),
    "dimensions_b": (64, 32),
    "relu": 2,
    "relu_threshold": 0x3F80,
    "edge_mask": 0xFFF,
}
"""A product of BFP4 and BFP8."""
L1 = {"l1_a": np.full(2 * 576, 100, np.uint8), "l1_b": np.full(2 * 1088, 101, np.uint8)}
ADDING = llk.Case(**CASE | {"out_format": 5, "l1_accumulate": True})
BEFORE = np.zeros(2048, np.uint8)
LLK = {
    "Case": CASE | {"seed": 0, "words": ()},
    "compare": {"case": ADDING, **L1, "device_l1": BEFORE, "l1_before": BEFORE},
    "expected": {"case": ADDING, **L1, "l1_before": BEFORE},
    "Mode": {"chip": "blackhole", "approximate": True, "dst32": True},
    "apply": {
        "function": "elu",
        "operands": np.full(64, 0xBF80, np.uint32),
        "parameters": {"alpha": 2},
        "seed": 5,
        "src_b_format": 5,
    },
    "grid": {},
}
ADDED = """
SFPLOAD vd=1, address=2
SFPADDI vd=1, imm=0x3F80
SFPSTORE vd=1
"""
KERNEL = sfpu.Kernel("blackhole")
VALUE = KERNEL.register(0)


def kernel():
    """Return the kernel of `VALUE`, without steps."""
    fresh = vars(sfpu.Kernel(KERNEL.chip))
    vars(KERNEL).clear()
    vars(KERNEL).update(fresh)
    return KERNEL


SFPU = {
    "Kernel": {"chip": "wormhole", "reserved": (1, 2)},
    "Kernel.constant": {"self": kernel, "value": 1.5},
    "Kernel.copy": {"self": kernel, "value": VALUE},
    "Kernel.copy_integer": {"self": kernel, "value": VALUE.bits},
    "Kernel.integer": {"self": kernel, "value": 3},
    "Kernel.load": {"self": kernel, "address": 2, "mode": 3},
    "Kernel.lut": {"self": kernel, "x": VALUE},
    "Kernel.lut_fp32": {"self": kernel, "x": VALUE, "mode": 7},
    "Kernel.min_max": {"self": kernel, "low": VALUE, "high": VALUE},
    "Kernel.multiply_add": {"self": kernel, "a": VALUE, "b": 2.0, "c": 0.5, "mod": 3},
    "Kernel.narrow": {"self": kernel, "condition": VALUE < 0},
    "Kernel.register": {"self": kernel, "number": 3},
    "Kernel.store": {"self": kernel, "value": VALUE, "address": 2, "mode": 3},
    "Kernel.text": {"self": kernel, "lines": "SFPNOP"},
    "Kernel.where": {"self": kernel, "condition": VALUE < 0},
    "Lanes": {"batch": (2, 3)},
    "run": {
        "words": isa.assemble(ADDED),
        "tiles": np.full((2, 8, 16), 0x4049, np.uint32),
        "src_b_format": 5,
        "lanes": sfpu.Lanes((2,)),
    },
    "explain_lane": {"words": isa.assemble("SFPLOAD\nSFPSTORE"), "operands": [0x3F800000]},
}
DATUM = {"style": Style.BF16, "dst32": True, "phase": 3, "srca_format": Format.BF16, "srcb_format": Format.BF16}
SUM = {name: value for name, value in DATUM.items() if name != "phase"}
DOT = {"numerics": NUMERICS, "dst": WORD, "b": [0x1FC08 + i for i in range(16)], "a": [0x1FD08 + i for i in range(16)]}
SOURCES = {"a": Source(0, 128, 0x7F8), "b": Source(1, 127, 0x7F8)}
EXACT = {
    "accumulate": {
        "numerics": NUMERICS,
        "dst": WORD,
        "sums": [(1 << 23, 127), (-3, 100)],
        "style": Style.BF16,
        "dst32": True,
    },
    "accumulate_integer": {"dst": 0x80000003, "value": 100},
    "add": {
        "numerics": NUMERICS,
        "dst": WORD,
        "b": 0x1FC08,
        "a": 0x1FD08,
        "subtract": True,
        "accumulating": True,
        **SUM,
    },
    "add_to_l1": {"numerics": NUMERICS, "old": WORD, "new": 0xBF812345, "fmt": Format.FP32},
    "dot16_integer": {**DOT, "phase": 3},
    "dst_word": {"numerics": NUMERICS, "datum": 0x5FC0F, "fmt": Format.BF16, "old": WORD, "low_half": True},
    "early_float": {"numerics": NUMERICS, "word": WORD, "mid_format": Format.BF16, "dst32": True, "bits": 100},
    "early_int16": {"word": WORD},
    "early_int8": {"word": 0x80000123, "unsigned": False, "shift": 3, "tie": Rounding.RNA},
    "edge_mask": {"code": 3, "column": 15, "mask": 0x8000, "replacement": 7},
    "exponent_threshold": {"code": WORD, "mid_format": Format.FP32, "threshold": 128},
    "fields": {**SOURCES, "phase": 3},
    "late_float": {"code": WORD, "mid_format": Format.FP32, "out_format": Format.BF16},
    "loaded": {"numerics": NUMERICS, "word": 0xC123, "mode": 15, "old": WORD},
    "maximum": {
        "dst": WORD,
        "scales": [0x1FC08] * 16,
        "column": [0x1FD08 + i for i in range(16)],
        "style": Style.BF16,
        "dst32": True,
    },
    "moved_source": {"numerics": NUMERICS, "word": 0x5FC0F, "srcb_format": Format.BF16},
    "multiply": {"numerics": NUMERICS, **SOURCES, "style": Style.BF16, "dst32": True, "phase": 3},
    "multiply_add": {"numerics": NUMERICS, "dst": WORD, "b": 0x1FC08, "a": 0x1FD08, **DATUM},
    "multiply_integer": {"numerics": NUMERICS, "a": 0x44123, "b": 0x4123, "phase": 3},
    "mx_element": {"code": WORD, "scale": 126, "fmt": MX_FORMATS["MXFP4"]},
    "mx_scale": {"codes": [WORD, WORD + 1], "fmt": MX_FORMATS["MXINT8"]},
    "mx_source": {"element": 5, "scale": 126, "fmt": MX_FORMATS["MXFP4"]},
    "pack_block": {"numerics": NUMERICS, "fmt": Format.BFP8, "codes": [0x3F80 + i for i in range(16)]},
    "read_source": {"numerics": NUMERICS, "word": 0x5FC0F, "style": Style.BF16, "source_format": Format.BF16},
    "relu": {"code": WORD, "width": 32, "mode": 3, "threshold": 0x3F80},
    "riscv_stored": {"value": 0x81, "fmt": 5},
    "rounds_up": {"numerics": NUMERICS, "discarded": 100, "count": 13, "bits": 100 << 10},
    "source_word": {"word": WORD, "fmt": Format.BF16, "dst32": True},
    "stochastic_round": {"numerics": NUMERICS, "code": WORD, "mode": 5, "bits": 100, "shift": 3},
    "stored": {"numerics": NUMERICS, "lane": WORD, "mode": 7},
    "trace_dot16": {**DOT, **DATUM},
    "trace_dot16_integer": {**DOT, "phase": 3},
    "unpack_block": {"numerics": NUMERICS, "fmt": Format.BFP8, "exponent": 127, "datums": [*range(100, 116)]},
    "unpack_datum": {
        "numerics": NUMERICS,
        "code": 0xBF80,
        "in_format": Format.BF16,
        "out_format": Format.BF16,
        "unsigned": False,
        "e4m3": False,
    },
}
