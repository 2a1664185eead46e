"""Instructions of an NKI kernel on Trainium3's RTL units: each is computed anew, and its values are compared with golden's.

A product is compared before it is added to PSUM, and the sum behind it where PSUM keeps FP32. Instructions without a unit, those
whose dtypes or sizes no unit of the core takes, and those on TF32, whose bits lie in FP32 words, are counted and left out.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from rich.console import Console

from bitpath.golden import trainium3
from bitpath.golden.arrays.codec import DTYPES
from bitpath.golden.formats.catalogue import BF16, E4M3, E4M3FN, E5M2, FP16, FP32
from bitpath.golden.nki.machine.record import Executed
from bitpath.golden.nki.memory.dtypes import X4
from bitpath.golden.nki.memory.tensor import NkiTensor
from bitpath.golden.trainium3.declarations.quad_mx import SCALE_PARTITIONS
from bitpath.golden.trainium3.declarations.quad_mx import X4 as WORD_ELEMENTS
from bitpath.golden.trainium3.operands.layout import unpack_x4
from bitpath.sim.engine.runner import build
from bitpath.sim.flows.outcome import differences, play
from bitpath.sim.flows.trainium3_staged import BENCHES, CoreUnits
from bitpath.verif.trainium3.core import stages

NAMES = {DTYPES[BF16]: "bf16", DTYPES[FP32]: "fp32"}
RESULTS = NAMES | {DTYPES[fmt]: fmt.name.lower() for fmt in (E4M3, E4M3FN, E5M2, FP16)}
OPERATORS = {"add", "subtract", "multiply", "max", "min"}
FUNCTIONS = {"square", "abs", "relu", "sign"}
"""Functions of activation whose result does not depend on a zero's sign behind a missing bias."""
ROOT = "rsqrt"
"""A function whose result does."""
SIDE = 32
"""Side of the blocks that the transpose unit takes."""
UNITS = CoreUnits()
Pair = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Compared:
    """What instructions of one kind gave on their unit.

    Attributes
    ----------
    opcode, unit : what ran where.
    count, values, mismatches : instructions, values compared, and those that differ.
    cycles : the unit's.
    """

    opcode: str
    unit: str
    count: int
    values: int
    mismatches: int
    cycles: int


def compare(executed: Iterable[Executed], simulator: str, console: Console) -> tuple[list[Compared], Counter[str]]:
    """Compute instructions on RTL units; return what each kind gave, and how many of each opcode no unit takes.

    Raises SimulationError if a build or a simulation failed, or a unit did nothing.
    """
    left_out = Counter[str]()
    found: dict[tuple[str, str], list[tuple[int, int, int]]] = {}
    for each in executed:
        opcode, used = each.instruction.opcode, Counter[str]()
        pairs = _pairs(each, partial(_play, simulator, console, used))
        if pairs is None:
            left_out[opcode] += 1
            continue
        values, wrong = sum(ours.size for ours, _ in pairs), sum(differences(*pair) for pair in pairs)
        found.setdefault((opcode, " + ".join(used)), []).append((values, wrong, sum(used.values())))
    rows = [Compared(*kind, len(own), *map(sum, zip(*own, strict=True))) for kind, own in found.items()]
    return rows, left_out


def text(rows: Iterable[Compared], left_out: Counter[str]) -> str:
    """Return what RTL gave as text."""
    lines = [
        f"RTL {each.opcode} on {each.unit}: {each.count}, {each.values:,} values, {each.mismatches} mismatches,"
        f" {each.cycles:,} cycles"
        for each in rows
    ]
    others = ", ".join(f"{opcode} {count}" for opcode, count in sorted(left_out.items()))
    return "\n".join([*lines, f"not on RTL: {others or 'nothing'}"])


def _play(simulator: str, console: Console, used: Counter[str], unit: str, content: Any) -> dict[str, Any]:
    built = build(unit, getattr(UNITS, unit), simulator)
    left = play(console, built, BENCHES.get(unit, stages.WORDS_BENCH), "nki", content)
    used[unit] += int(left["cycles"])
    return left


def _pairs(each: Executed, own: stages.Play) -> list[Pair] | None:
    """Return RTL's and golden's arrays of an instruction; None if no unit takes it."""
    run = _RUNS.get(each.instruction.opcode)
    tf32 = any(isinstance(one, NkiTensor) and one.dtype == "tfloat32" for one in each.arguments.values())
    return None if run is None or tf32 else run(each, own)


def _quantize_mx(each: Executed, own: stages.Play) -> list[Pair] | None:
    source, dst = each.operands["src"], each.arguments["dst"]
    if source.dtype != DTYPES[BF16]:
        return None
    rule = "nki05" if "quantize_mx.nki05" in each.instruction.keys else "ocp"
    words, scales = stages.quantise(own, source, DTYPES[X4[dst.dtype]], rule)
    return [(words, each.results["dst"]), (scales, each.results["dst_scale"])]


def _nc_matmul_mx(each: Executed, own: stages.Play) -> list[Pair] | None:
    sides = [each.operands[name] for name in ("stationary", "moving")]
    dtypes = {X4[each.arguments[name].dtype] for name in ("stationary", "moving")}
    if len(dtypes) > 1 or len(sides[0]) % SIDE or each.arguments.get("tile_position"):
        return None
    dtype = DTYPES[dtypes.pop()]
    offsets = [_offset(each.arguments[f"{name}_scale"]) for name in ("stationary", "moving")]
    scales = [each.operands[f"{name}_scale"] for name in ("stationary", "moving")]
    rows = SIDE // SCALE_PARTITIONS
    spread = [
        scale[first + offset : first + offset + rows]
        for scale, offset in zip(scales, offsets, strict=True)
        for first in range(0, len(scale), SIDE)
    ]
    stationary, moving = sides
    ours = stages.multiply(own, dtype, stationary, moving, spread)
    elements = [unpack_x4(words, dtype).reshape(*words.shape, WORD_ELEMENTS) for words in sides]
    compact = [np.vstack(spread[: len(spread) // 2]), np.vstack(spread[len(spread) // 2 :])]
    return [(ours, trainium3.nc_matmul_mx(*elements, *compact, multi_bank=True)), *_sums(each, own, ours)]


def _sums(each: Executed, own: stages.Play, product: np.ndarray) -> list[Pair]:
    """Return what RTL's PSUM holds behind a product that is added, beside golden's."""
    present = each.operands.get("dst")
    if present is None or present.dtype != DTYPES[FP32]:
        return []
    return [(stages.accumulate(own, UNITS.psum.cols, present, product), each.results["dst"])]


def _offset(scale: NkiTensor) -> int:
    return (scale.allocation.partition + scale.row) % SIDE


def _nc_matmul(each: Executed, own: stages.Play) -> list[Pair] | None:
    left, right = (each.operands[name] for name in ("stationary", "moving"))
    plain = not any(each.arguments.get(name) for name in ("is_transpose", "tile_position"))
    if {left.dtype, right.dtype} != {DTYPES[BF16]} or not plain or "matmul.double_row" in each.instruction.keys:
        return None
    ours = stages.matmul(own, left, right)
    return [(ours, trainium3.nc_matmul(left, right)), *_sums(each, own, ours)]


def _exponential(each: Executed, own: stages.Play) -> list[Pair] | None:
    source, largest = each.operands["src"], each.operands.get("max_value")
    if source.dtype != DTYPES[BF16] or largest is None or largest.dtype != DTYPES[FP32]:
        return None
    powers, _ = stages.exponentiate(own, source, largest)
    return [_as(each, powers)]


def _activation(each: Executed, own: stages.Play) -> list[Pair] | None:
    data, name = each.operands["data"], getattr(each.arguments["op"], "__name__", "")
    scale, bias = each.arguments.get("scale", 1.0), each.operands.get("bias")
    is_root = name == ROOT and bias is not None
    if data.dtype not in NAMES or not (is_root or name in FUNCTIONS) or isinstance(scale, NkiTensor):
        return None
    values, _ = stages.activate(own, data, "copy" if is_root else name, scale=float(scale), bias=bias)
    return [_as(each, stages.recur(own, "reciprocal_square_root", values) if is_root else values)]


def _tensor_scalar(each: Executed, own: stages.Play) -> list[Pair] | None:
    if each.arguments.get("reverse0") or each.arguments.get("reverse1"):
        return None
    steps = [("operand0", each.arguments["op0"])]
    if each.arguments.get("op1") is not None:
        steps.append(("operand1", each.arguments["op1"]))
    return _operate(each, own, "data", steps)


def _tensor_tensor(each: Executed, own: stages.Play) -> list[Pair] | None:
    return _operate(each, own, "data1", [("data2", each.arguments["op"])])


def _operate(each: Executed, own: stages.Play, first: str, steps: Sequence[tuple[str, Any]]) -> list[Pair] | None:
    """Run one step after the other, FP32 between them."""
    value, result = each.operands[first], each.results["dst"]
    for place, (operand, op) in enumerate(steps):
        y, written = each.operands.get(operand), getattr(op, "__name__", "")
        if y is None and isinstance(each.arguments.get(operand), int | float):
            y = np.full((len(value), 1), each.arguments[operand], np.float32)
        name = {"maximum": "max", "minimum": "min"}.get(written, written)
        if name not in OPERATORS or y is None or {value.dtype, y.dtype} - set(NAMES) or result.dtype not in RESULTS:
            return None
        value = stages.operate(own, value, name, y, RESULTS[result.dtype] if place == len(steps) - 1 else "fp32")
    return [(value, result)]


def _dma_copy(each: Executed, own: stages.Play) -> list[Pair] | None:
    if "src" not in each.operands:
        return None
    source, result = each.operands["src"], each.results["dst"]
    return [(stages.move(own, UNITS.dma_engine, source, result.dtype), result.reshape(-1))]


def _reciprocal(each: Executed, own: stages.Play) -> list[Pair] | None:
    data = each.operands["data"]
    return [_as(each, stages.recur(own, "reciprocal", data))] if data.dtype == DTYPES[FP32] else None


def _nc_transpose(each: Executed, own: stages.Play) -> list[Pair] | None:
    data = each.operands["data"]
    if data.dtype.itemsize != 2 or any(side % SIDE for side in data.shape):
        return None
    return [(stages.transpose(own, data), each.results["dst"])]


def _as(each: Executed, values: np.ndarray) -> Pair:
    """Return FP32 values of RTL, cast to the result's dtype by golden, and golden's result."""
    result = each.results["dst"]
    return (values if result.dtype == values.dtype else trainium3.cast(values, result.dtype)), result


_RUNS: Mapping[str, Callable[[Executed, stages.Play], list[Pair] | None]] = {
    "quantize_mx": _quantize_mx,
    "nc_matmul_mx": _nc_matmul_mx,
    "nc_matmul": _nc_matmul,
    "exponential": _exponential,
    "activation": _activation,
    "activation_reduce": _activation,
    "tensor_scalar": _tensor_scalar,
    "scalar_tensor_tensor": _tensor_scalar,
    "tensor_tensor": _tensor_tensor,
    "reciprocal": _reciprocal,
    "nc_transpose": _nc_transpose,
    "dma_copy": _dma_copy,
}
