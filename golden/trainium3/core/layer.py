"""A layer from HBM back to HBM on one core: RMSNorm, QuantizeMX, and an MX matmul whose K is cut into two parts.

The parts are those that two cores would have, 256 and 128 of K, on partitions 0 to 63 and 64 to 95. DMA brings the operands in,
adds the parts' products by read-add-write, and takes the sum back, while a copy within HBM has a traffic class of its own.
"""

from dataclasses import dataclass

import numpy as np

from bitpath.golden.arrays.arguments import check_array, check_choice, checked
from bitpath.golden.arrays.codec import DTYPES
from bitpath.golden.formats.blocks import MX_FORMATS
from bitpath.golden.trainium3.core.core import Core, CoreReport
from bitpath.golden.trainium3.core.layer_places import (
    BFLOAT16,
    BYTE,
    FLOAT32,
    HBM_BYTES,
    HBM_GAMMA,
    HBM_HIDDEN,
    HBM_OTHER,
    HBM_SCALE,
    HBM_WEIGHT,
    HIDDEN,
    NORMALISED_AT,
    OTHER_RUNS,
    OUTPUT,
    OUTPUTS,
    PARTS,
    ROWS,
    SCALES_AT,
    TOKENS,
    WORD,
    WORDS_AT,
    hbm,
    product,
    sbuf,
    scales,
)
from bitpath.golden.trainium3.core.layer_program import layer_program
from bitpath.golden.trainium3.core.program import Instruction
from bitpath.golden.trainium3.dma.schedule import DEFAULT_CLASSES, DEFAULT_QUEUES, QueueConfig, TrafficClass
from bitpath.golden.trainium3.operands.layout import pack_x4, to_partitions
from bitpath.golden.trainium3.operands.quantize_mx import ScaleRuleName, quantize_offline

FORMATS = ("mxfp8_e4m3", "mxfp8_e5m2")
QUEUES = (
    QueueConfig(priority=0, traffic_class=0),
    QueueConfig(priority=1, traffic_class=1),
    QueueConfig(priority=2, traffic_class=2),
    QueueConfig(priority=3, traffic_class=3),
    *DEFAULT_QUEUES[4:],
)
"""Hidden states, weights, partial sums, and the other traffic."""
CLASSES = (*DEFAULT_CLASSES[:3], TrafficClass(rate256=1760, burst=4096))
"""The other traffic has a quarter of an engine's 27.5 bytes a cycle."""


@dataclass(frozen=True, kw_only=True, eq=False)
class LayerResult:
    """What the layer left.

    Attributes
    ----------
    output : bfloat16 [128, 512].
    normalised : bfloat16 [128, 384], RMSNorm's result in SBUF.
    words, scales : QuantizeMX's x4 words, uint32 [96, 128], and uint8 [12, 128].
    parts : float32 [2, 128, 512], the products of the parts of K before they are added.
    report : times.
    """

    output: np.ndarray
    normalised: np.ndarray
    words: np.ndarray
    scales: np.ndarray
    parts: np.ndarray
    report: CoreReport


@checked
def prepare_layer(
    hidden: np.ndarray,
    gamma: np.ndarray,
    weight: np.ndarray,
    *,
    fmt: str = "mxfp8_e4m3",
    scale_rule: ScaleRuleName = "ocp",
    shaping: bool = True,
    qos: bool = True,
) -> tuple[Core, list[Instruction]]:
    """Return a core with the layer's tensors in HBM, and the layer's program; see `run_layer`."""
    check_array("hidden", hidden, BFLOAT16)
    check_array("gamma", gamma, BFLOAT16)
    check_array("weight", weight, FLOAT32)
    for name, array, shape in (
        ("hidden", hidden, (TOKENS, HIDDEN)),
        ("gamma", gamma, (HIDDEN,)),
        ("weight", weight, (HIDDEN, OUTPUTS)),
    ):
        if array.shape != shape:
            raise ValueError(f"{name} must have shape {shape}, not {array.shape}")
    check_choice("fmt", fmt, FORMATS)
    dtype = DTYPES[MX_FORMATS[fmt].element]
    queues = QUEUES if qos else tuple(QueueConfig(traffic_class=each.traffic_class) for each in QUEUES)
    core = Core(hbm_bytes=HBM_BYTES, queues=queues, classes=CLASSES if shaping else DEFAULT_CLASSES)
    core.write(hbm(BFLOAT16, HBM_HIDDEN, TOKENS, HIDDEN), hidden)
    core.write(hbm(BFLOAT16, HBM_GAMMA, 1, HIDDEN), gamma.reshape(1, -1))
    for part, (first, partitions, start) in enumerate(PARTS):
        words, scale = _weight(weight[first : first + 4 * partitions], dtype, scale_rule)
        core.write(hbm(WORD, HBM_WEIGHT + part * (1 << 17), partitions, OUTPUTS), words)
        for quadrant in range(partitions // 32):
            place = hbm(BYTE, HBM_SCALE + (start // 32 + quadrant) * 4 * OUTPUTS, 4, OUTPUTS)
            core.write(place, scale[4 * quadrant : 4 * quadrant + 4])
    other = np.arange(OTHER_RUNS[0] * OTHER_RUNS[1], dtype=np.uint8).reshape(OTHER_RUNS)
    core.write(hbm(BYTE, HBM_OTHER, *OTHER_RUNS), other)
    return core, layer_program(dtype, scale_rule)


@checked
def run_layer(
    hidden: np.ndarray,
    gamma: np.ndarray,
    weight: np.ndarray,
    *,
    fmt: str = "mxfp8_e4m3",
    scale_rule: ScaleRuleName = "ocp",
    shaping: bool = True,
    qos: bool = True,
) -> LayerResult:
    """Compute ``rmsnorm(hidden, gamma) @ weight`` on a core.

    Parameters
    ----------
    hidden, gamma : bfloat16 [128, 384] and [384].
    weight : float32 [384, 512], quantised on the host.
    fmt : "mxfp8_e4m3" or "mxfp8_e5m2", the format of both operands.
    scale_rule : as `quantize_mx`.
    shaping, qos : whether the traffic classes have their limits, and the queues their priorities. No effect on values.

    Raises
    ------
    TypeError, ValueError : another dtype, shape, format or rule.
    """
    core, program = prepare_layer(hidden, gamma, weight, fmt=fmt, scale_rule=scale_rule, shaping=shaping, qos=qos)
    report = core.run(program)
    rows = np.vstack([core.read(scales(SCALES_AT, quadrant, TOKENS)) for quadrant in range(ROWS // 32)])
    return LayerResult(
        output=core.read(OUTPUT),
        normalised=core.read(sbuf(BFLOAT16, TOKENS, NORMALISED_AT, (1, HIDDEN))),
        words=core.read(sbuf(WORD, ROWS, WORDS_AT, (1, TOKENS))),
        scales=rows,
        # In SBUF the sum has taken the first part's place by now.
        parts=np.stack([core.read(product(part)) for part in range(len(PARTS))]),
        report=report,
    )


def _weight(weight: np.ndarray, dtype: np.dtype, rule: ScaleRuleName) -> tuple[np.ndarray, np.ndarray]:
    """Quantise a part's weights [4P, N] on the host; return x4 words [P, N] and scales [P/8, N]."""
    tile = to_partitions(weight)
    data, scale = quantize_offline(tile.reshape(len(tile), -1), dtype, scale_rule=rule)
    return pack_x4(data), scale
