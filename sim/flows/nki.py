"""Instructions of an NKI kernel on Trainium3's RTL units: each is computed anew, and its values are compared with golden's.

A product is compared before it is added to PSUM, and the sum behind it where PSUM keeps FP32. Instructions that no unit of the
core takes are counted, with the reason.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any

import numpy as np
from rich.console import Console

from bitpath.golden import trainium3
from bitpath.golden.arrays.codec import DTYPES
from bitpath.golden.formats.catalogue import BF16, FP16, FP32
from bitpath.golden.nki.isa.enums import BIT_OPERATORS, GOLDEN_NAMES
from bitpath.golden.nki.machine.timeline import Executed
from bitpath.golden.nki.memory.dtypes import X4
from bitpath.golden.nki.memory.tensor import NkiTensor
from bitpath.golden.trainium3.declarations.quad_mx import SCALE_PARTITIONS
from bitpath.golden.trainium3.declarations.quad_mx import X4 as WORD_ELEMENTS
from bitpath.golden.trainium3.operands.layout import unpack_x4
from bitpath.rtl.trainium3.lanes.activation2_lane import Function
from bitpath.rtl.trainium3.lanes.engine_lane import Operator
from bitpath.sim.engine.runner import build
from bitpath.sim.flows.outcome import differences, play
from bitpath.sim.flows.trainium3_core import BENCHES, CoreUnits
from bitpath.verif.trainium3.core import stages
from bitpath.verif.trainium3.core.core_stages import JoinedCore
from bitpath.verif.trainium3.core.programs.hosted import LeftOutError
from bitpath.verif.trainium3.dtype_words import DTYPE_NAMES

# Runs the steps of an NKI kernel's instructions in RTL: each on its unit, or as programs of the joined core.


@dataclass(frozen=True)
class OnUnits:
    """Each step of :mod:`bitpath.verif.trainium3.core.stages` on its unit.

    Attributes
    ----------
    play : simulates a unit.
    units : their configurations.
    """

    play: stages.Play
    units: CoreUnits

    def __getattr__(self, step: str) -> Callable[..., Any]:
        return partial(getattr(stages, step), self.play)

    def move(self, data: np.ndarray, dtype: np.dtype) -> np.ndarray:
        return stages.move(self.play, self.units.dma_engine, data, dtype)

    def add(self, present: np.ndarray, more: np.ndarray) -> np.ndarray:
        return stages.add(self.play, self.units.dma_engine, present, more)

    def dma_transpose(self, data: np.ndarray) -> np.ndarray:
        config = self.units.dma_transpose
        room = 1 << config.address_bits - 1  # steps are signed
        if data.nbytes // data.shape[-1] * config.columns > room:
            raise LeftOutError(f"an engine's part of its source has more than {room} bytes")
        return stages.dma_transpose(self.play, config, data)

    def multiply(self, *operands: Any, present: np.ndarray | None) -> list[np.ndarray]:
        """Return the product, and its sum with what PSUM held before it, if anything."""
        return self._with_sum(stages.multiply(self.play, *operands), present)

    def matmul(self, *operands: Any, present: np.ndarray | None) -> list[np.ndarray]:
        """Return the same of a product without scales."""
        return self._with_sum(stages.matmul(self.play, *operands), present)

    def _with_sum(self, product: np.ndarray, present: np.ndarray | None) -> list[np.ndarray]:
        if present is None:
            return [product]
        return [product, stages.accumulate(self.play, self.units.psum.cols, present, product)]


Steps = OnUnits | JoinedCore


# The RTL unit that computes an instruction of an NKI kernel, and the values that it takes.


NARROW, HALF, WIDE = DTYPES[BF16], DTYPES[FP16], DTYPES[FP32]
MODES = {NARROW: "bf16", HALF: "fp16", WIDE: "fp32"}
"""The array's modes by the dtype of both operands."""
OPERATORS = {name.lower() for name in Operator.__members__} - {"bypass"}
UNARY = {"abs", "logical_not", "bitwise_not"}
FUNCTIONS = {name.lower() for name in Function.__members__} - {"prelu"}
ROOTS = {"rsqrt": "reciprocal_square_root", "reciprocal": "reciprocal"}
"""Functions of activation that a unit of its own computes digit by digit."""
EXPONENTIAL = "exp"
SIDE = 32
"""Side of the blocks that the transpose unit takes."""
MOST_ELEMENTS = 1 << 16
"""Elements of a row that the copy lanes take."""
Pair = tuple[np.ndarray, np.ndarray]


def pairs_of(each: Executed, own: Steps) -> list[Pair]:
    """Return RTL's and golden's arrays of an instruction.

    Raises LeftOutError if no unit takes it.
    """
    run = _RUNS.get(each.instruction.opcode)
    if run is None:
        raise LeftOutError(REASONS.get(each.instruction.opcode, "no unit computes it"))
    if any(isinstance(one, NkiTensor) and one.dtype == "tfloat32" for one in each.arguments.values()):
        raise LeftOutError("the bits of TF32 lie in FP32 words")
    if each.instruction.engine == "gpsimd":
        raise LeftOutError("GpSimd has no unit")
    return run(each, own)


def _name(op: Any) -> str:
    written = getattr(op, "__name__", "")
    return GOLDEN_NAMES.get(written, written)


def _quantize_mx(each: Executed, own: Steps) -> list[Pair]:
    source, dst = each.operands["src"], each.arguments["dst"]
    if source.dtype != NARROW:
        raise LeftOutError(f"the unit is run on bfloat16, not {source.dtype}")
    rule = "nki05" if "quantize_mx.nki05" in each.instruction.keys else "ocp"
    words, scales = own.quantise(source, DTYPES[X4[dst.dtype]], rule)
    return [(words, each.results["dst"]), (scales, each.results["dst_scale"])]


def _nc_matmul_mx(each: Executed, own: Steps) -> list[Pair]:
    names = ("stationary", "moving")
    sides = [each.operands[name] for name in names]
    dtypes = [DTYPES[X4[each.arguments[name].dtype]] for name in names]
    offsets = [_offset(each.arguments[f"{name}_scale"]) for name in names]
    scales = [each.operands[f"{name}_scale"] for name in names]
    rows = SIDE // SCALE_PARTITIONS
    spread = [
        scale[first + offset : first + offset + rows]
        for scale, offset in zip(scales, offsets, strict=True)
        for first in range(0, len(scale), SIDE)
    ]
    stationary, moving = sides
    present = _present(each)
    ours = own.multiply((dtypes[0], dtypes[1]), stationary, moving, spread, _row_tile(each), present=present)
    elements = [
        unpack_x4(words, dtype).reshape(*words.shape, WORD_ELEMENTS) for words, dtype in zip(sides, dtypes, strict=True)
    ]
    compact = [np.vstack(spread[: len(spread) // 2]), np.vstack(spread[len(spread) // 2 :])]
    return _products(each, ours, trainium3.nc_matmul_mx(*elements, *compact, multi_bank=True))


def _row_tile(each: Executed) -> dict[str, int]:
    """Return an MX product's row tile as a MatmulInstruction has it."""
    position, size = (each.arguments.get(f"tile_{name}") for name in ("position", "size"))
    return {"tile_row": position[0], "tile_rows": size[0]} if position and size else {}


def _present(each: Executed) -> np.ndarray | None:
    """Return the FP32 numbers of PSUM to which a product is added, if it is."""
    present = each.operands.get("dst")
    return present if present is not None and present.dtype == WIDE else None


def _products(each: Executed, ours: Sequence[np.ndarray], product: np.ndarray) -> list[Pair]:
    """Return a product, and the sum in PSUM where it is added, beside golden's."""
    return list(zip(ours, (product, each.results["dst"])[: len(ours)], strict=True))


def _offset(scale: NkiTensor) -> int:
    return (scale.allocation.partition + scale.row) % SIDE


def _nc_matmul(each: Executed, own: Steps) -> list[Pair]:
    left, right = (each.operands[name] for name in ("stationary", "moving"))
    if each.arguments.get("is_transpose"):
        return _transpose(each, own, left)
    if "matmul.double_row" in each.instruction.keys:
        raise LeftOutError("rows are doubled")
    if left.dtype != right.dtype or left.dtype not in MODES:
        raise LeftOutError(
            f"the array is run on two operands of {', '.join(map(str, MODES))}, not {left.dtype} and {right.dtype}"
        )
    ours = own.matmul(left, right, MODES[left.dtype], present=_present(each))
    return _products(each, ours, trainium3.nc_matmul(left, right, multi_bank=True))


def _exponential(each: Executed, own: Steps) -> list[Pair]:
    source = each.operands["src"]
    if source.dtype not in (NARROW, WIDE):
        raise LeftOutError(f"the unit is run on bfloat16 and float32, not {source.dtype}")
    command = getattr(each.arguments.get("reduce_cmd"), "name", "idle")
    if command not in ("idle", "reset_reduce"):
        raise LeftOutError(f"its sum begins with a number, as {command} says")
    largest = each.operands.get("max_value", each.arguments.get("max_value", 0.0))
    column = np.array(np.broadcast_to(largest, (len(source), 1)), np.float32)
    powers, sums = own.exponentiate(source, column)
    return [_as(each, powers), *([_as(each, sums, "reduce_res")] if _reduces(each, command) else [])]


def _reduces(each: Executed, command: str) -> bool:
    return command != "idle" and "reduce_res" in each.results


def _activation(each: Executed, own: Steps) -> list[Pair]:
    data, name = each.operands["data"], _name(each.arguments["op"])
    command = getattr(each.arguments.get("reduce_cmd"), "name", "idle")
    if each.instruction.opcode == "activation_reduce":
        command = "reset_reduce"
    is_lane = name in FUNCTIONS
    if not is_lane and name not in ROOTS and name != EXPONENTIAL:
        raise LeftOutError(f"no unit computes {name}")
    if "reduce_res" in each.results and command not in ("reduce", "reset_reduce"):
        raise LeftOutError("it reads the registers of an earlier instruction")
    scale, bias = (each.operands.get(of, each.arguments.get(of)) for of in ("scale", "bias"))
    start = each.operands["registers"] if command == "reduce" else None
    values, sums = own.activate(data, name if is_lane else "copy", start=start, scale=1.0 if scale is None else scale, bias=bias,
        operations="multiply" if bias is None else "multiply_add",
    )  # fmt: skip
    if name in ROOTS:
        values = own.recur(ROOTS[name], values)
    elif name == EXPONENTIAL:
        values, _ = own.exponentiate(values, np.zeros((len(values), 1), np.float32))
    if not _reduces(each, command):
        return [_as(each, values)]
    if not is_lane:  # the registers take the function's results
        _, sums = own.activate(values, start=start, operations="bypass")
    return [_as(each, values), _as(each, sums, "reduce_res")]


def _tensor_scalar(each: Executed, own: Steps) -> list[Pair]:
    if each.arguments.get("reduce_op") is not None:
        raise LeftOutError("no unit of VectorE reduces a row")
    steps = [
        (f"operand{number}", each.arguments[f"op{number}"], bool(each.arguments.get(f"reverse{number}")))
        for number in (0, 1)
        if each.arguments.get(f"op{number}") is not None
    ]
    return _operate(each, own, each.operands["data"], steps)


def _tensor_tensor(each: Executed, own: Steps) -> list[Pair]:
    return _operate(each, own, each.operands["data1"], [("data2", each.arguments["op"], False)])


def _operate(each: Executed, own: Steps, value: np.ndarray, steps: Sequence[tuple[str, Any, bool]]) -> list[Pair]:
    """Run one step after the other, FP32 between them; without steps a copy."""
    result = each.results["dst"]
    names = [_name(op) for _, op, _ in steps]
    if unknown := [name for name in names if name not in OPERATORS]:
        raise LeftOutError(f"no unit computes {unknown[0]}")
    if not steps:
        return [(_copied(own, value, result.dtype), result)]
    for place, (name, (operand, _, reverse)) in enumerate(zip(names, steps, strict=True)):
        words = name in BIT_OPERATORS
        dtype = value.dtype if words else WIDE
        y = each.operands.get(operand)
        if y is None:
            given = 0 if name in UNARY else each.arguments[operand]
            y = np.full((len(value), 1), given).astype(dtype)
        to = result.dtype if place == len(steps) - 1 else dtype
        value = own.operate(value, name, y, DTYPE_NAMES[to], reverse=reverse)
    return [(value, result)]


def _copied(own: Steps, value: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Return elements as VectorE's lane casts them, of an operator that takes its first operand."""
    return own.operate(value, "bypass", np.zeros((len(value), 1), WIDE), DTYPE_NAMES[dtype])


def _memset(each: Executed, own: Steps) -> list[Pair]:
    """Fill a tile from VectorE's lane, which casts an FP32 number; the compiler rounds another number to FP32."""
    result, value = each.results["dst"], each.arguments["value"]
    constant = np.float32(value)
    if result.dtype != WIDE and not np.isnan(value) and float(constant) != value:
        raise LeftOutError("its number is no FP32 number, and the lane would round it twice")
    return [(_copied(own, np.full(result.shape, constant), result.dtype), result)]


def _rand2(each: Executed, own: Steps) -> list[Pair]:
    result = each.results["dst"]
    low, high = (
        np.broadcast_to(np.float32(each.operands.get(name, each.arguments[name])), (len(result), 1))
        for name in ("min", "max")
    )
    return [(own.rand2(each.operands["states"], low, high, result.shape[1], result.dtype), result)]


def _tensor_copy(each: Executed, own: Steps) -> list[Pair]:
    source, result = each.operands["src"], each.results["dst"]
    if max(source.shape[1], result.shape[1]) > MOST_ELEMENTS:
        raise LeftOutError(f"a row has more than {MOST_ELEMENTS} elements")
    return [(own.copy(source, result.dtype, engine=each.instruction.engine), result)]


def _dma_copy(each: Executed, own: Steps) -> list[Pair]:
    if "src" not in each.operands:
        raise LeftOutError("its addresses are read when it runs")
    source, result = each.operands["src"], each.results["dst"]
    return [(own.move(source, result.dtype), result.reshape(-1))]


def _dma_transpose(each: Executed, own: Steps) -> list[Pair]:
    if "src" not in each.operands:
        raise LeftOutError("its addresses are read when it runs")
    return [(own.dma_transpose(each.operands["src"]), each.results["dst"])]


def _dma_compute(each: Executed, own: Steps) -> list[Pair]:
    sources = [values for name, values in each.operands.items() if name.startswith("srcs")]
    if not sources:
        raise LeftOutError("its addresses are read when it runs")
    result = each.results["dst"]
    dtypes = {values.dtype for values in (*sources, result)}
    if len(sources) == 1 or len(dtypes) > 1 or result.dtype not in (NARROW, WIDE):
        raise LeftOutError("the unit adds two or more sources of bfloat16, or of float32, in their dtype")
    if result.dtype == NARROW and len(sources) > 2:
        raise LeftOutError("the unit rounds every sum of bfloat16, and the instruction the last one alone")
    return [(reduce(own.add, sources), result)]


def _reciprocal(each: Executed, own: Steps) -> list[Pair]:
    return [_as(each, own.recur("reciprocal", each.operands["data"].astype(WIDE)))]


def _nc_transpose(each: Executed, own: Steps) -> list[Pair]:
    return _transpose(each, own, each.operands["data"])


def _transpose(each: Executed, own: Steps, data: np.ndarray) -> list[Pair]:
    if data.dtype.itemsize != 2:
        raise LeftOutError(f"the unit moves elements of 2 bytes, not of {data.dtype.itemsize}")
    if any(side % SIDE for side in data.shape):
        raise LeftOutError(f"the unit moves blocks of {SIDE} by {SIDE}, which do not fill {data.shape}")
    return [(own.transpose(data), each.results["dst"])]


def _as(each: Executed, values: np.ndarray, name: str = "dst") -> Pair:
    """Return FP32 values of RTL, cast to the result's dtype by golden, and golden's result."""
    result = each.results[name]
    return (values if result.dtype == values.dtype else trainium3.cast(values, result.dtype)), result


_RUNS: Mapping[str, Callable[[Executed, Steps], list[Pair]]] = {
    "quantize_mx": _quantize_mx,
    "nc_matmul_mx": _nc_matmul_mx,
    "nc_matmul": _nc_matmul,
    "exponential": _exponential,
    "activation": _activation,
    "activation_reduce": _activation,
    "tensor_scalar": _tensor_scalar,
    "scalar_tensor_tensor": _tensor_scalar,
    "tensor_tensor": _tensor_tensor,
    "tensor_copy": _tensor_copy,
    "memset": _memset,
    "rand2": _rand2,
    "reciprocal": _reciprocal,
    "nc_transpose": _nc_transpose,
    "dma_copy": _dma_copy,
    "dma_transpose": _dma_transpose,
    "dma_compute": _dma_compute,
}
REASONS: Mapping[str, str] = {
    "activate2": "the unit is run by activation and activation_reduce alone",
    "core_barrier": "it computes nothing",
    "tensor_reduce": "no unit of VectorE reduces a row",
    "tensor_scalar_reduce": "no unit of VectorE reduces a row",
} | dict.fromkeys(("register_load", "register_move", "register_store"), "it computes nothing")
"""Why instructions without a run here are left out."""


UNITS = CoreUnits()


@dataclass(frozen=True)
class Compared:
    """Results of the instructions of one kind on their unit.

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


Reasons = Counter[tuple[str, str]]
"""Instructions that no unit takes, by opcode and reason."""


def compare(
    executed: Iterable[Executed], simulator: str, console: Console, *, joined: bool = False
) -> tuple[list[Compared], Reasons]:
    """Compute instructions on RTL units; return what each kind gave, and the instructions that no unit takes.

    With ``joined`` they run on the joined `core`, a program each.

    Raises SimulationError if a build or a simulation failed, or a unit did nothing.
    """
    left_out = Reasons()
    found: dict[tuple[str, str], list[tuple[int, int, int]]] = {}
    for each in executed:
        opcode, used = each.instruction.opcode, Counter[str]()
        play_unit = partial(_play, simulator, console, used)
        try:
            pairs = pairs_of(each, JoinedCore(play_unit, UNITS.core) if joined else OnUnits(play_unit, UNITS))
        except LeftOutError as reason:
            left_out[opcode, str(reason)] += 1
            continue
        values, wrong = sum(ours.size for ours, _ in pairs), sum(differences(*pair) for pair in pairs)
        found.setdefault((opcode, " + ".join(used)), []).append((values, wrong, sum(used.values())))
    rows = [Compared(*kind, len(own), *map(sum, zip(*own, strict=True))) for kind, own in found.items()]
    return rows, left_out


def text(rows: Iterable[Compared], left_out: Reasons) -> str:
    """Return what RTL gave as text."""
    lines = [
        f"RTL {each.opcode} on {each.unit}: {each.count}, {each.values:,} values, {each.mismatches} mismatches,"
        f" {each.cycles:,} cycles"
        for each in rows
    ]
    lines += [f"not on RTL: {opcode}, {count}: {reason}" for (opcode, reason), count in sorted(left_out.items())]
    return "\n".join(lines if left_out else [*lines, "not on RTL: nothing"])


def _play(simulator: str, console: Console, used: Counter[str], unit: str, content: Any) -> dict[str, Any]:
    built = build(unit, getattr(UNITS, unit), simulator)
    left = play(console, built, BENCHES.get(unit, stages.WORDS_BENCH), "nki", content)
    used[unit] += int(left["cycles"])
    return left
