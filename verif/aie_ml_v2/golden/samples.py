"""A call of every public function of AIE-ML v2's golden model, by its name: the smallest arguments that it takes.

The samples compute little, since test workers import them at the same time, before any kernel has been compiled.
"""

import ml_dtypes
import numpy as np

from bitpath.golden import aie_ml_v2
from bitpath.golden.aie_ml_v2 import exact
from bitpath.golden.aie_ml_v2.declarations.codes import BFP16EBS8, MAC_FLAGS, MX9, RoundingCode, Saturation, VectorOp
from bitpath.golden.aie_ml_v2.declarations.modes import INT8, INT32X16
from bitpath.golden.aie_ml_v2.declarations.mover import ScalarFunction, ScalarOp, ShuffleMode
from bitpath.golden.aie_ml_v2.declarations.numerics import AIE_ML_V2
from bitpath.golden.formats.catalogue import BF16

NUMERICS = AIE_ML_V2.numerics
X = np.linspace(1, 64, 64, dtype=np.float32)
A = np.ones((2, 16), np.float32)
BITS = np.array([0x3F812345, 0x7F812345], np.uint32)
HALF_BITS = np.array([0x3F81, 0xC001], np.uint16)
LANE = np.ones(8, ml_dtypes.bfloat16)
INTS = np.arange(8)
VECTOR = np.arange(64, dtype=np.uint8)
BLOCKS = aie_ml_v2.to_mx(X, "mx9")
EIGHTS = aie_ml_v2.to_mx(X, "bfp16ebs8")
REGISTERS = aie_ml_v2.to_registers(BLOCKS)
SPARSE = aie_ml_v2.to_sparse(np.array([1, 0, 2, 0] * 4, np.float32).astype(ml_dtypes.bfloat16))
SPARSE_ROWS = aie_ml_v2.to_sparse(np.tile(np.array([1, 0, 2, 0]), (8, 4)))
PAIRS = np.arange(64).reshape(32, 2)
STREAM = aie_ml_v2.compress(VECTOR % 2)
PROGRAM = aie_ml_v2.matmul_program(A, A.T, format="bf16")
RIGHT = aie_ml_v2.prepare(A.T[np.newaxis], format="bf16")
MACS = [aie_ml_v2.MacInstruction(mode="mx9", destination=i % 2, accumulators=(i % 2,)) for i in range(5)]
MODE = ShuffleMode(bits=8, rows=8, cols=8)
MATRICES = {"a": A, "b": A.T, "format": "bf16", "rounding": 12}
MEMORY = aie_ml_v2.DataMemory()
FIFO = {"pointer": 100, "count": 64, "data": np.pad(VECTOR, (0, 64))}
LOAD_FIFO, STORE_FIFO = (lambda: aie_ml_v2.LoadFifo(**FIFO)), (lambda: aie_ml_v2.StoreFifo(**FIFO))

AT = aie_ml_v2.Address(pointer=0)
LOAD = aie_ml_v2.Load(to="x1", address=AT)
EIGHT_BITS = np.arange(16 * 16).reshape(16, 16) % 100
LAYER = {"a": EIGHT_BITS, "b": EIGHT_BITS, "mode": "int8", "shift": 3}

VECTORISED = {
    "Address": {"pointer": 1, "register": 2, "immediate": 0},
    "Address.check_immediate": {"self": lambda: AT, "width": 64},
    "Address.step": {"self": lambda: AT, "values": (64,), "pointer": 128},
    "Bundle": {"lda": LOAD},
    "Fill": {"fifo": 1},
    "Load": {"to": "x1", "address": AT},
    "Mac": {"mode": "int8", "to": "dm1", "a": "x1", "b": "x2", "shape": "8x8x8"},
    "PointerAdd": {"address": AT},
    "Pop": {"to": "ex1", "fifo": 0, "fmt": "mx9", "jump": AT},
    "Push": {"source": "dm1", "rounding": 12},
    "Shuffle": {"to": "x1", "low": "x2", "mode": 106},
    "Store": {"source": "x1", "address": AT},
    "StoreSrs": {
        "source": "dm1",
        "address": AT,
        "acc_bits": 32,
        "out_bits": 8,
        "shift": 1,
        "rounding": 12,
        "saturate": 1,
    },
    "Tile": {"conflicts": "stall", "exposed": True},
    "Tile.run": {"self": aie_ml_v2.Tile, "bundles": [aie_ml_v2.Bundle(lda=LOAD)], "limit": 9},
    "integer_layer": LAYER | {"b_at": 0x4000},
    "mx9_layer": {"a": np.ones((16, 16), np.float32), "b": np.ones((16, 16), np.float32), "rounding": 9},
    "run_layer": {"layer": aie_ml_v2.integer_layer(**LAYER)},
    "DataMemory": {"size": 128},
    "DataMemory.load": {"self": aie_ml_v2.DataMemory, "address": 64, "width": 64},
    "DataMemory.store": {"self": aie_ml_v2.DataMemory, "address": 64, "data": VECTOR},
    "Dimensions": dict.fromkeys(("m", "dn", "dj", "dc", "dn2", "dj2", "dc2"), 100),
    "LoadFifo": FIFO,
    "LoadFifo.fill": {"self": LOAD_FIFO, "memory": MEMORY},
    "LoadFifo.pop": {"self": LOAD_FIFO, "memory": MEMORY, "size": 72},
    "LoadFifo.pop_sparse": {"self": LOAD_FIFO, "memory": MEMORY},
    "Registers.move": {"self": aie_ml_v2.Registers, "to": "p0", "source": "r0"},
    "Registers.read": {"self": aie_ml_v2.Registers, "name": "x0"},
    "Registers.write": {"self": aie_ml_v2.Registers, "name": "r0", "value": 100},
    "StoreFifo": FIFO,
    "StoreFifo.flush": {"self": STORE_FIFO, "memory": MEMORY},
    "StoreFifo.push": {"self": STORE_FIFO, "memory": MEMORY, "data": VECTOR},
    "StreamPort": {"depth": 8, "latency": 2},
    "StreamPort.cycle": {"self": aie_ml_v2.StreamPort, "write": aie_ml_v2.StreamWord(100), "read": True},
    "agu_step": {"p": 100, "dims": aie_ml_v2.Dimensions(64), "form": "2d"},
    "agu_stream": {"p": 100, "dims": aie_ml_v2.Dimensions(64), "count": 3, "form": "3d"},
    "banks": {"address": 64, "width": 64},
    "conflict_cycles": {"requests": [(64, 64), (0, 32)]},
    "dimensions_from_steps": {"sizes": [2, 3], "steps": [64, 100, 110]},
    "stream_result": {"found": aie_ml_v2.StreamWord(100)},
    "Cascade.cycle": {"self": aie_ml_v2.Cascade, "write": np.ones(16, np.uint32)},
    "MacInstruction": {"mode": "mx9", "destination": 3, "accumulators": (1, 2)},
    "MxBlocks": {name: getattr(BLOCKS, name) for name in aie_ml_v2.MxBlocks.__annotations__},
    "MxRegisters": {name: getattr(REGISTERS, name) for name in aie_ml_v2.MxRegisters.__annotations__},
    "Program": {name: getattr(PROGRAM, name) for name in aie_ml_v2.Program.__annotations__},
    "SparseVector": {"slots": SPARSE.slots, "mask": SPARSE.mask},
    "add_accumulators": {"acc1": X, "acc2": X},
    "bf16_to_f32": {"bits": HALF_BITS},
    "bf16_to_int32": {"bits": HALF_BITS, "shift": 3},
    "broadcast": {"scalar": 100, "bits": 64},
    "complex_dot": {"a": PAIRS, "b": PAIRS, "mode": "cint16", "negate": 0x0A},
    "compress": {"data": VECTOR},
    "convolve": {"a": np.tile(VECTOR, 2), "b": VECTOR, "mode": "int8", "shape": "64x8"},
    "decompress": {"stream": STREAM},
    "elementwise": {"a": VECTOR, "b": VECTOR, "mode": "int8"},
    "divide_step": {"rest": INTS, "quotient": INTS, "divisor": INTS},
    "exp2": {"x": X},
    "exp2_instruction": {"t": X},
    "extract": {"register": VECTOR, "index": 7, "bits": 8},
    "extract_broadcast": {"register": VECTOR, "index": 7, "bits": 128},
    "f32_dot": {"a": X[:8], "b": X[8:16], "products": 6},
    "f32_to_bf16": {"bits": BITS, "rounding": 12, "saturate": 2},
    "f32_to_fp16": {"bits": BITS, "rounding": 12, "saturate": 1},
    "f32_to_fp8": {"bits": BITS, "dtype": ml_dtypes.float8_e5m2, "rounding": 9, "saturate": 1, "shift": 3},
    "f32_to_int32": {"bits": BITS, "shift": 3, "rounding": 12},
    "fix_to_float": {"n": INTS.astype(np.int32), "shift": 3},
    "float_op": {"op": 16, "a": np.ones(32, ml_dtypes.bfloat16), "b": np.ones(32, ml_dtypes.bfloat16)},
    "float_to_fix": {"bits": BITS, "shift": 3},
    "fp16_to_f32": {"bits": HALF_BITS},
    "fp8_to_f32": {"x": VECTOR.view(ml_dtypes.float8_e5m2)},
    "from_mx": {"blocks": BLOCKS},
    "from_registers": {"registers": REGISTERS},
    "fused_dot": {"a": LANE, "b": LANE, "format": "bf16"},
    "insert": {"register": VECTOR, "index": 7, "scalar": 100, "bits": 16},
    "int4_matmul": {"a": VECTOR[:32].reshape(8, 4), "b": VECTOR[:32].reshape(8, 4), "a_bits": 4, "shape": "8x8x8"},
    "integer_dot": {"a": INTS, "b": INTS, "mode": "int8"},
    "integer_matmul": {"a": INTS.reshape(4, 2), "b": np.ones((2, 8), int), "mode": "int32x16"},
    "issue_cycles": {"instructions": MACS},
    "macs_per_cycle": {"mode": "mx9"},
    "matmul": MATRICES,
    "matmul_program": MATRICES,
    "mx_mode": {"format": "mx4"},
    "pack_mask": {"mask": VECTOR > 7},
    "pack": {"x": INTS, "bits": 4, "saturate": 1, "signed": False},
    "pack_mx": {"blocks": BLOCKS},
    "pack_tile": {"blocks": EIGHTS},
    "multiply": {"a": A[np.newaxis], "right": RIGHT},
    "prepare": {"b": A.T[np.newaxis], "format": "bf16", "rounding": 12},
    "push": {"register": VECTOR, "scalar": 100, "bits": 16},
    "result_matrix": {"program": PROGRAM, "tiles": np.arange(32, dtype=np.float32).reshape(1, 1, 4, 8)},
    "run_program": {"program": PROGRAM},
    "scalar_function": {"function": "inv", "bits": INTS.astype(np.int32), "fix_in": 3, "fix_out": 4},
    "scalar_op": {"op": "mac", "a": INTS, "b": INTS, "carry": 1, "acc": INTS},
    "select": {"a": np.arange(16), "sparse": SPARSE},
    "shuffle": {"low": VECTOR, "high": VECTOR, "mode": 54},
    "shuffle_mx": {"low": REGISTERS, "high": REGISTERS, "mode": 0},
    "sparse_dot": {"a": np.ones(16, ml_dtypes.bfloat16), "b": SPARSE, "format": "bf16"},
    "sparse_matmul": {"a": np.ones((8, 16), int), "b": SPARSE_ROWS, "format": "int8"},
    "sparse_load": {"stream": STREAM, "entity_bytes": 1},
    "split_f32": {"x": X},
    "srs": {"acc": INTS * 1000, "shift": 3, "acc_bits": 32, "out_bits": 8, "rounding": 9, "saturate": 1},
    "tanh": {"x": X},
    "timing": {"mode": "mx9"},
    "to_dense": {"sparse": SPARSE},
    "to_mx": {"x": X, "format": "mx9", "rounding": 9},
    "to_registers": {"blocks": BLOCKS},
    "to_sparse": {"dense": np.array([1, 0, 2, 0], np.float32)},
    "total_cycles": {"instructions": MACS},
    "unpack_mask": {"bits": BITS, "lanes": 32},
    "unpack4": {"x": VECTOR, "signed": False},
    "unpack_mx": {"data": aie_ml_v2.pack_mx(BLOCKS), "format": "mx9"},
    "unpack_tile": {"data": aie_ml_v2.pack_tile(EIGHTS)},
    "ups": {"x": INTS, "shift": 30, "acc_bits": 32, "saturate": 1},
    "vector_op": {"op": 16, "a": VECTOR, "b": VECTOR[::-1], "bits": 8, "signed": False},
    "vector_shift": {"low": VECTOR, "count": 60},
    "with_flags": {"function": aie_ml_v2.bf16_to_int32, "bits": HALF_BITS, "shift": 3},
}
BLOCK = exact.Block(MX9, 127, 0x81, tuple(range(-8, 8)))
EIGHT = exact.Block(BFP16EBS8, 127, 0, tuple(range(-4, 4)))
FLOATS = [(0x3F81, BF16), (0x4001, BF16)]
LANES = {"acc1": 0x3F812345, "acc2": 0x40012345}
SRS = {
    "acc": 123,
    "shift": 3,
    "out_bits": 8,
    "rounding": RoundingCode.FLOOR,
    "saturation": Saturation.NONE,
    "signed": True,
}
UPS = {"x": 100, "shift": 30, "acc_bits": 32, "saturation": Saturation.SATURATE}
EXACT = {
    "Block": {"fmt": MX9, "exponent": 127, "shift": 0x81, "codes": tuple(range(-8, 8))},
    "Block.shift_of": {"self": lambda: BLOCK, "element": 15},
    "Block.value": {"self": lambda: BLOCK, "element": 15},
    "agu_step": {"p": 100, "m": 64, "levels": [exact.Level(3, 64)]},
    "banks": {"address": 64, "width": 64},
    "bf16_to_int32": {"code": 0x4380, "shift": 12},
    "broadcast": {"scalar": 100, "bits": 8},
    "complex_lane": {
        "mode": INT32X16,
        "a": [(1, 2)] * 16,
        "b": [(3, 4)],
        "lane": 3,
        "acc1": (5, 6),
        "acc2": (7, 8),
        "negate": 0x0A,
    },
    "compress": {"data": bytes(range(64))},
    "convolution_pairs": {"convolution": INT8.convolutions[1], "a": [1] * 128, "b": [2] * 64, "lane": 9},
    "elementwise_pairs": {"lanes": 4, "a": [1, 2, 3, 4], "b": [5], "lane": 2},
    "conflict_cycles": {"requests": [(64, 64), (0, 32)]},
    "exp2": {"numerics": NUMERICS, "code": 0x3F812345, "fmt": BF16},
    "exp2_instruction": {"code": 0x44600123, "fmt": BF16},
    "extract": {"register": 123 << 100, "index": 100, "bits": 8, "signed": True},
    "extract_broadcast": {"register": 123 << 100, "index": 100, "bits": 8},
    "divide_step": {"rest": 1, "quotient": 100, "divisor": 7},
    "fix_to_float": {"n": 123, "shift": 3},
    "float_op": {"op": VectorOp.MIN_GE, "a": 0x3F81, "b": 0x4001, "fmt": BF16},
    "float_to_fix": {"code": 0x3F812345, "shift": 12},
    "from_mx": {"numerics": NUMERICS, "block": BLOCK},
    "insert": {"register": 123 << 100, "index": 100, "scalar": 100, "bits": 8},
    "dot_flags": {"lane": exact.trace_float_lane(NUMERICS, FLOATS, FLOATS, **LANES)},
    "f32_to_int32": {"code": 0x3F812345, "shift": 12, "rounding": RoundingCode.CONV_EVEN},
    "int32_flags": {"code": 0x4380, "shift": 12},
    "integer_lane": {"mode": INT8, "a": [100, 120], "b": [100, -120], "acc1": 120, "acc2": 125},
    "integer_op": {"op": VectorOp.ADD, "a": 100, "b": 120, "bits": 8, "signed": True, "mask": False},
    "matrix_pairs": {"shape": INT32X16.shapes[0], "a": [1] * 8, "b": [2] * 16, "lane": 9},
    "load_group": {"entities": [1, 2, 3, 4], "mask": 0b1010},
    "load_fifo": {"memory": bytes(range(192)), "pointer": 70, "sizes": [None, 72]},
    "narrow": {"code": 0x3F812345, "fmt": BF16, "rounding": RoundingCode.CONV_EVEN, "saturate": 2, "shift": 3},
    "nest_levels": {"sizes": [2, 3], "steps": [64, 100, 110]},
    "mx_flags": {"inputs": [0x3F812345 + i for i in range(16)]},
    "narrow_flags": {"code": 0x3F812345, "fmt": BF16, "rounding": RoundingCode.CONV_EVEN, "saturate": 2, "shift": 3},
    "pack": {"x": 100, "bits": 8, "saturation": Saturation.SATURATE, "signed": True},
    "pack_block": {"block": BLOCK},
    "pack_mask": {"mask": [True, False]},
    "pack_tile": {"blocks": [EIGHT] * 8},
    "pairs": {"a": [1, 2, 3, 4], "slots": (5, 6), "mask": 0b1010},
    "positions": {"mask": 0b1010},
    "piece_pairs": {"products": 6},
    "push": {"register": 123 << 100, "scalar": 100, "bits": 8, "at_top": True},
    "register_bytes": {"block": BLOCK},
    "route_group": {"slots": (5, 6), "mask": 0b1010},
    "saturate": {"value": 120, "bits": 7, "saturation": Saturation.SATURATE, "signed": True},
    "scalar_function": {"function": ScalarFunction.INV, "code": 123, "fix_in": 3, "fix_out": 4},
    "scalar_op": {"op": ScalarOp.MAC, "a": 100, "b": 7, "carry": 1, "acc": 5},
    "shuffle": {"low": 123 << 100, "high": 7, "mode": MODE, "width": 512},
    "split_f32": {"code": 0x3F812345},
    "srs": SRS,
    "store_fifo": {"memory": bytes(192), "pointer": 70, "pushes": [bytes(range(72)), None]},
    "srs_flags": SRS,
    "status_word": {"group": MAC_FLAGS, "flags": aie_ml_v2.Flags(zero=True)},
    "tanh": {"code": 0x3F812345},
    "to_mx": {
        "numerics": NUMERICS,
        "inputs": [0x3F812345 + i for i in range(16)],
        "fmt": MX9,
        "rounding": RoundingCode.CONV_EVEN,
    },
    "trace_float_lane": {"numerics": NUMERICS, "a": FLOATS, "b": FLOATS, **LANES},
    "trace_integer_lane": {"mode": INT8, "a": [100, 120], "b": [100, -120], "acc1": 120, "acc2": 125},
    "trace_mx_lane": {"numerics": NUMERICS, "a": BLOCK, "b": BLOCK, **LANES},
    "trace_to_mx": {
        "numerics": NUMERICS,
        "inputs": [0x3F812345 + i for i in range(16)],
        "fmt": MX9,
        "rounding": RoundingCode.CONV_EVEN,
    },
    "unpack4": {"byte": 123, "signed": True},
    "unpack_block": {"data": exact.pack_block(BLOCK), "fmt": MX9},
    "unpack_mask": {"bits": 123, "lanes": 100},
    "unpack_tile": {"data": exact.pack_tile([EIGHT] * 8)},
    "ups": UPS,
    "ups_flags": UPS,
    "vector_shift": {"low": 123 << 100, "high": 7, "count": 60},
    "widen": {"code": 0x3F81, "fmt": BF16},
    "wrap": {"value": 127, "bits": 7, "signed": True},
}
