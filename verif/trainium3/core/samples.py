"""Arguments that the functions of the core, its DMA engines and TensorE's other modes take, by name."""

import numpy as np

from bitpath.golden import trainium3
from bitpath.golden.arrays.codec import DTYPES
from bitpath.golden.formats.catalogue import BF16
from bitpath.golden.trainium3.declarations.dma import TRAINIUM3_DMA, CollectiveAlgorithm
from bitpath.golden.trainium3.declarations.tensor import TRAINIUM3_SPARSE
from bitpath.golden.trainium3.declarations.vector import TRAINIUM3_MATMUL
from bitpath.golden.trainium3.tensor.sparse import PATTERNS
from bitpath.verif.trainium3.golden.samples import HBM_WORDS, SBUF_WORDS, filled

BFLOAT = DTYPES[BF16]
MATRIX = np.ones((4, 8), np.float32)
ROWS = np.arange(4, dtype=np.int32).reshape(4, 1)
CORE_WORDS = trainium3.Operand("sbuf", SBUF_WORDS)
LOAD = {"destination": CORE_WORDS, "source": trainium3.Operand("hbm", HBM_WORDS)}
COMPUTE = {
    "name": "a",
    "engine": "vector",
    "reads": (),
    "writes": (CORE_WORDS,),
    "compute": lambda: np.zeros(SBUF_WORDS.shape, np.float32),
    "cycles": 64,
    "tile": (0, 0, 64, 128),
}
BF16_LAYER = {
    "hidden": np.ones((128, 384), BFLOAT),
    "gamma": np.ones(384, BFLOAT),
    "weight": np.ones((384, 512), np.float32),
}

CODES, CAST = [[1, 2], [3, 4]], {"source": "bf16", "destination": "fp32"}
QUEUES = (trainium3.QueueConfig(priority=0),) * 16
CLASSES = (trainium3.TrafficClass(rate256=100, burst=64),) * 4
INSTRUCTION = {"cycles": 64, "banks": (0, 1), "transpose": False, "ready": 3, "tile": (0, 0, 64, 128)}
VALUES, TAGS = trainium3.compress_sparse(np.eye(8, 4, dtype=np.float32), "2:4")
TAG_WORDS = trainium3.pack_tags(TAGS, "2:4")


def core():
    """Return a core with zeros at `CORE_WORDS`."""
    made = trainium3.Core(hbm_bytes=64)
    filled(made.sbuf, SBUF_WORDS)
    return made


VECTORISED = {
    "Compute": COMPUTE,
    "Compute.values": {"self": trainium3.Compute(**COMPUTE), "read": ()},
    "Core": {"hbm_bytes": 64, "queues": QUEUES, "classes": CLASSES},
    "Core.step": {"self": core, "instruction": trainium3.Compute(**COMPUTE)},
    "Core.read": {"self": core, "operand": CORE_WORDS},
    "Core.run": {"self": core, "program": [trainium3.Compute(**COMPUTE)]},
    "Core.write": {"self": core, "operand": CORE_WORDS, "values": np.zeros(SBUF_WORDS.shape, np.float32)},
    "Operand": {"memory": "sbuf", "pattern": SBUF_WORDS},
    "QueueConfig": {"priority": 1, "traffic_class": 2},
    "QueuedDescriptor": {"queue": 1, "arrival": 2, "bytes": 3, "computes": True},
    "TensorInstruction": INSTRUCTION,
    "TrafficClass": {"rate256": 1, "burst": 2},
    "Transfer": {"name": "a", "queue": 1} | LOAD,
    "cast": {"values": MATRIX, "dtype": BFLOAT},
    "compress_sparse": {"dense": np.eye(8, 4, dtype=np.float32), "pattern": "2:4"},
    "descriptor_cycles": {"size": 100, "computes": True, "times": TRAINIUM3_DMA.numerics},
    "dma_compute": {"srcs": [MATRIX, MATRIX], "dtype": BFLOAT},
    "dma_copy": {"src": MATRIX, "shape": (8, 4), "dtype": "tf32"},
    "dma_gather_add": {"dst": MATRIX, "table": MATRIX, "indices": ROWS},
    "dma_scatter_add": {"table": MATRIX, "indices": ROWS, "src": MATRIX},
    "dma_schedule": {
        "queues": QUEUES,
        "classes": CLASSES,
        "descriptors": [trainium3.QueuedDescriptor(queue=0, arrival=0, bytes=64)],
        "times": TRAINIUM3_DMA.numerics,
    },
    "expand_sparse": {"values": VALUES, "tags": TAGS, "pattern": "2:4"},
    "issue": {"instructions": [trainium3.TensorInstruction(**INSTRUCTION)]},
    "load_cycles": {"kind": "matmul", "m": 64, "dtype": BFLOAT},
    "mode_program": {"a": MATRIX, "b": np.ascontiguousarray(MATRIX.T), "mode": "bf16"},
    "nc_matmul_sparse": {
        "stationary": VALUES,
        "moving": np.ones((4, 2, 3), np.float32),
        "tag_words": TAG_WORDS,
        "pattern": "2:4",
        "psum_accumulate_flag": 3,
    },
    "nc_transpose": {"data": MATRIX},
    "pack_tags": {"tags": TAGS, "pattern": "2:4"},
    "read_add_write": {"b": MATRIX, "a": MATRIX},
    "reduce_ranks": {"srcs": [MATRIX, MATRIX], "algorithm": "mesh", "chip": 4, "ranks": [3, 4]},
    "run_layer": BF16_LAYER,
    "run_mode_program": {"program": trainium3.mode_program(MATRIX, np.ascontiguousarray(MATRIX.T), "bf16")},
    "tensor_cycles": {"kind": "matmul", "m": 64, "n": 128, "dtype": BFLOAT},
    "transfer_cycles": {
        "descriptors": trainium3.descriptors(SBUF_WORDS, HBM_WORDS),
        "mode": "hwdge",
        "queues": QUEUES,
        "classes": CLASSES,
        "queue": 1,
        "hbm_sides": 1,
        "cores": 8,
        "times": TRAINIUM3_DMA.numerics,
    },
    "unpack_tags": {"words": TAG_WORDS, "pattern": "2:4"},
}
EXACT = {
    "cast": {"code": 0x3F800001, "source": "fp32", "destination": "bf16"},
    "dma_copy": {"codes": [1, 2], "source": "fp32", "destination": "bf16"},
    "dma_gather": {"dst": CODES, "table": CODES, "indices": [1, 0]} | CAST,
    "dma_gather_add": {"dst": CODES, "table": CODES, "indices": [1, 0]} | CAST,
    "dma_gather_transpose": {
        "rows": CODES,
        "inner": [2],
        "indices": [[1, 0], [0, 9]],
        "count": 4,
        "dst": [7, 8, 9, 10, 11, 12, 13, 14],
    },
    "dma_scatter": {"table": CODES, "indices": [1, 0], "src": CODES} | CAST,
    "dma_scatter_add": {"table": CODES, "indices": [1, 0], "src": CODES} | CAST,
    "dma_transpose": {"codes": [1, 2, 3, 4, 5, 6], "shape": [3, 2]},
    "dma_compute": {"codes": [1, 2], "sources": ["fp32", "int8"], "destination": "fp32"},
    "dma_schedule": {
        "priorities": [0] * 16,
        "classes": [0] * 16,
        "rates": [None] * 4,
        "bursts": [0] * 4,
        "descriptors": [(0, 0, 0, 64)],
        "cycles": 200,
    },
    "fp32_halves": {"code": 0x3F9E0652},
    "read_add_write": {"b": 0x3F80, "a": 0x3B80, "fmt": BF16},
    "reduce_ranks": {
        "codes": [1, 2],
        "dtype": "fp32",
        "op": "add",
        "algorithm": CollectiveAlgorithm.MESH,
        "chip": 4,
        "ranks": [3, 4],
        "chunk": 1,
    },
    "selected": {
        "numerics": TRAINIUM3_SPARSE.numerics,
        "pattern": PATTERNS["2:4"],
        "row": 3,
        "code": 1,
    },
    "split12": {"numerics": TRAINIUM3_MATMUL.numerics, "stationary": [0x3F9E0652], "moving": [0x3F9E0652]},
}
