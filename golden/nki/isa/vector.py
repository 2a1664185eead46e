"""Instructions on the elements of tiles: copies, reductions, operators, quantize_mx, exponential and random numbers.

Each function checks its operands by an `Issue`, computes with golden's instruction of the same name, and writes the result. A
generator's state is 24 words of each partition on VectorE, four generators, and 6 on GpSimd, one generator.

Ref: ``nki.isa`` reference page, NKI 0.6. GpSimd's random numbers take a cycle each behind its start-up: chosen.
"""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from bitpath.golden import trainium3
from bitpath.golden.arrays.codec import DTYPES
from bitpath.golden.nki.isa.enums import BIT_OPERATORS, engine_name, operator_name, scalar_step, word
from bitpath.golden.nki.isa.enums import engine as engines
from bitpath.golden.nki.isa.enums import reduce_cmd as commands
from bitpath.golden.nki.machine import access
from bitpath.golden.nki.machine.core import EXPONENTIALS
from bitpath.golden.nki.machine.issue import CHIP, SBUF, Issue, free_size, instruction
from bitpath.golden.nki.machine.timeline import LEAST, gpsimd_cycles
from bitpath.golden.nki.memory.dtypes import INTEGERS, STORED, X4, dtype_name
from bitpath.golden.nki.memory.tensor import NkiTensor
from bitpath.golden.trainium3.declarations.quad_mx import QUADRANT, SCALE_PARTITIONS
from bitpath.golden.trainium3.declarations.vector import GPSIMD_XORWOW_STATES, XORWOW_STATES, XORWOW_WORDS

# tensor_copy and memset: elements moved or set, on VectorE, ScalarE or GpSimd with the same bits.


ELEMENTWISE = ("vector", "scalar", "gpsimd")
"""Engines of elementwise instructions."""


def _engine(issue: Issue, chosen: engines, default: str) -> str:
    own = engine_name(chosen, default)
    if own not in ELEMENTWISE:
        raise issue.fail(f"engine: must be {', '.join(ELEMENTWISE)} or unknown, not {own}")
    return own


def on_engine(issue: Issue, chosen: engines, *tensors: NkiTensor, factor: int = 1, default: str = "vector") -> str:
    """Set engine and cycles of an elementwise instruction, and return the engine. GpSimd has no access to PSUM."""
    own = _engine(issue, chosen, default)
    if own == "gpsimd":
        for each in tensors:
            if isinstance(each, NkiTensor) and each.allocation.buffer == "psum":
                raise issue.fail(f"engine: GpSimd cannot reach PSUM, where {each.name} is")
    issue.elementwise(own, *tensors, factor=factor)
    return own


@instruction
def tensor_copy(
    issue: Issue, dst: NkiTensor, src: NkiTensor, engine: engines = engines.unknown, dtype: Any = None
) -> None:
    """Copy a tile: bits where the dtypes agree, else through FP32, as `bitpath.golden.trainium3.tensor_copy` does.

    ``dtype``, which no page has and published kernels give, has no effect: another one than the destination's is a warning.
    """
    issue.check("dst", dst, CHIP)
    if dtype is not None and (given := dtype_name(dtype)) != dst.dtype:
        issue.core.machine.warn("cast", f"tensor_copy dtype: {given} has no effect on a dst of {dst.dtype}")
    issue.check("src", src, CHIP)
    on_engine(issue, engine, dst, src)
    if dst.shape[0] != src.shape[0] or dst.size != src.size:
        raise issue.fail(f"dst: must have the elements of {src.shape}, not {dst.shape}")
    if dst.dtype == src.dtype:
        issue.move(dst, src)
        return
    issue.put("dst", dst, trainium3.cast(issue.tile("src", src), issue.result(dst)))


@instruction
def memset(issue: Issue, dst: NkiTensor, value: float, engine: engines = engines.unknown) -> None:
    """Set all elements to a number, rounded once to the dtype; x4 dtypes take 0 alone.

    A float for integers is an error, but 0.0, which kernels of the vendor's library give, is a warning.
    """
    own = _engine(issue, engine, "vector")
    issue.check("dst", dst, CHIP if own != "gpsimd" else SBUF)
    shape = dst.shape[0], dst.size // dst.shape[0]
    if dst.dtype in INTEGERS and isinstance(value, float) and value == 0:
        issue.core.machine.warn("float_memset", f"{dst.name}: value must be an integer for {dst.dtype}, not {value!r}")
        value = 0
    if dst.dtype in X4:
        if value != 0:
            raise issue.fail(f"value: must be 0 for {dst.dtype}, not {value!r}")
        values = np.zeros(shape, STORED[dst.dtype])
    else:
        values = trainium3.memset(shape, value, dtype=issue.result(dst))
    issue.put("dst", dst, values)
    issue.elementwise(own, dst, halved=issue.rates.halves and dst.itemsize <= 2 and value == 0)


# tensor_reduce, tensor_scalar_reduce and tensor_partition_reduce.


ORDERLESS = ("max", "min", "bitwise_and", "bitwise_or", "bitwise_xor")
READ_REGISTERS = 64
GPSIMD_START, GPSIMD_STEP = 150, 8


@instruction
def tensor_reduce(
    issue: Issue,
    dst: NkiTensor,
    op: Callable,
    data: NkiTensor,
    axis: int | Sequence[int],
    negate: bool = False,
    keepdims: bool = False,
) -> None:
    """Reduce the last dimensions of a tile, in FP32, serially from the first element; with ``negate`` change the sign."""
    issue.check("dst", dst)
    values = issue.tile("data", data)
    axes = sorted(int(dim) % data.ndim for dim in ((axis,) if isinstance(axis, int) else axis))
    if not axes or axes != list(range(data.ndim - len(axes), data.ndim)) or 0 in axes:
        raise issue.fail(f"axis: must be the last free dimensions of shape {data.shape}, not {axis}")
    count = prod(data.shape[dim] for dim in axes)
    name = operator_name(issue, "op", op)
    order = word(issue.core.options.sum_order.value)
    groups = values.reshape(len(values), -1, count)
    made = [
        trainium3.tensor_reduce(
            np.ascontiguousarray(groups[:, k]), name, negate=negate, dtype=issue.result(dst), sum_order=order
        )
        for k in range(groups.shape[1])
    ]
    issue.put("dst", dst, np.concatenate(made, axis=1))
    if name not in ORDERLESS and count > 1:
        issue.uses("reduction.order")
    halved = issue.rates.halves and dst.dtype == data.dtype == "bfloat16" and name in ("add", "max")
    issue.elementwise("vector", dst, data, halved=halved)


@instruction
def tensor_scalar_reduce(
    issue: Issue,
    dst: NkiTensor,
    data: NkiTensor,
    op0: Callable,
    operand0: float | NkiTensor,
    reduce_op: Callable,
    reduce_res: NkiTensor | None = None,
    reverse0: bool = False,
    reduce_cmd: commands = commands.reset_reduce,
    reduce_init: float | NkiTensor | None = None,
    reduce_res_negate: bool = False,
) -> None:
    """Write ``data op0 operand0``, and reduce it, before its cast, onto VectorE's registers."""
    issue.check("dst", dst)
    if reverse0:
        raise issue.fail("reverse0: must be False")
    values = issue.tile("data", data)
    step, operand, _ = scalar_step(issue, "0", op0, operand0, len(values))
    more = {"reduce_init": issue.scalar("reduce_init", reduce_init, len(values))} if reduce_init is not None else {}
    put_and_reduce(
        issue, dst, data, values, (step, operand), reduce_op, reduce_cmd, reduce_res, negate=reduce_res_negate, **more
    )
    issue.elementwise("vector", dst, data, extra=READ_REGISTERS)


def put_and_reduce(
    issue: Issue,
    dst: NkiTensor,
    data: NkiTensor,
    values: np.ndarray,
    step: tuple[str, Any],
    reduce_op: Callable,
    reduce_cmd: commands,
    reduce_res: NkiTensor | None,
    *,
    negate: bool = False,
    **more: Any,
) -> None:
    """Write an operator's results on a tile's values, and reduce them, before their cast, onto VectorE's registers."""
    name = operator_name(issue, "reduce_op", reduce_op)
    made, after = trainium3.tensor_scalar_reduce(
        values,
        *step,
        reduce_op=name,
        reduce_cmd=word(reduce_cmd.name),
        accumulators=issue.registers("vector", data) if reduce_cmd is commands.reduce else None,
        reduce_res_negate=negate,
        dtype=issue.result(dst),
        sum_order=word(issue.core.options.sum_order.value),
        **more,
    )
    issue.put("dst", dst, made)
    # The registers keep the reduction as it is; a change of sign is exact.
    issue.accumulated("vector", data, -after if negate else after, reduce_res, after)
    if name not in ORDERLESS:
        issue.uses("reduction.order")


@instruction
def tensor_partition_reduce(issue: Issue, dst: NkiTensor, op: Callable, data: NkiTensor) -> None:
    """Reduce the partitions of a tile to one, from partition 0 on, on GpSimd."""
    issue.check("dst", dst, SBUF)
    values = issue.tile("data", data, SBUF)
    issue.put(
        "dst", dst, trainium3.tensor_partition_reduce(values, operator_name(issue, "op", op), dtype=issue.result(dst))
    )
    issue.uses("gpsimd.order")
    issue.on("gpsimd", GPSIMD_START + GPSIMD_STEP * values.shape[1])


# tensor_tensor, tensor_scalar, scalar_tensor_tensor and reciprocal: operators on elements, each rounded to FP32.


WORDS = ("int32", "uint32")
OPERATORS = {"scalar": (("multiply",), ("add",), ("multiply", "add")), "gpsimd": (("rsqrt",),)}
"""Operators of tensor_scalar on engines other than VectorE. Ref: ISA."""


@instruction
def tensor_tensor(
    issue: Issue, dst: NkiTensor, data1: NkiTensor, data2: NkiTensor, op: Callable, engine: engines = engines.unknown
) -> None:
    """Write ``data1 op data2`` to `dst`. Pairs of 32-bit integers run on GpSimd, exactly modulo 2**32, unless one is in
    PSUM."""
    issue.check("dst", dst)
    issue.not_both_psum(data1=data1, data2=data2)
    name = operator_name(issue, "op", op)
    left, right = issue.tile("data1", data1), issue.tile("data2", data2)
    tensors = dst, data1, data2
    in_psum = any(each.allocation.buffer == "psum" for each in tensors)
    words = all(each.dtype in WORDS for each in tensors) and name not in BIT_OPERATORS and not in_psum
    own = engine_name(engine, "gpsimd" if words or name == "power" else "vector")
    if own not in ("vector", "gpsimd"):
        raise issue.fail(f"engine: must be vector, gpsimd or unknown, not {own}")
    if own == "gpsimd" and in_psum:
        raise issue.fail("engine: GpSimd cannot reach PSUM")
    fast = issue.rates.halves and (
        in_psum
        or (
            all(each.dtype == "bfloat16" and each.is_contiguous() for each in tensors)
            and name in ("add", "subtract", "multiply")
        )
    )
    issue.elementwise(own, *tensors, factor=1 if fast else 2)
    made = trainium3.tensor_tensor(
        left, right, name, engine="gpsimd" if own == "gpsimd" else "vector", dtype=issue.result(dst)
    )
    issue.put("dst", dst, made)


@instruction
def tensor_scalar(
    issue: Issue,
    dst: NkiTensor,
    data: NkiTensor,
    op0: Callable | None,
    operand0: float | NkiTensor | None = None,
    reverse0: bool = False,
    op1: Callable | None = None,
    operand1: float | NkiTensor | None = None,
    reverse1: bool = False,
    engine: engines = engines.unknown,
) -> None:
    """Write ``(data op0 operand0) op1 operand1``; without op0 a copy. Operands are numbers or [P, 1], FP32 for arithmetic."""
    issue.check("dst", dst)
    own = on_engine(issue, engine, dst, data)
    values = issue.tile("data", data)
    steps = []
    for number, op, operand, reverse in (("0", op0, operand0, reverse0), ("1", op1, operand1, reverse1)):
        if op is not None:
            steps.append(scalar_step(issue, number, op, operand, len(values), reverse=reverse))
    names = tuple(each[0] for each in steps)
    if own in OPERATORS and steps and names not in OPERATORS[own]:
        raise issue.fail(f"op0 and op1: must not be {' and '.join(names)} on {own}")
    if not steps:
        issue.put("dst", dst, trainium3.cast(values, issue.result(dst)))
        return
    (first, *second) = steps
    more = {"op1": second[0][0], "operand1": second[0][1], "reverse1": second[0][2]} if second else {}
    made = trainium3.tensor_scalar(values, first[0], first[1], reverse0=first[2], dtype=issue.result(dst), **more)
    issue.put("dst", dst, made)


@instruction
def scalar_tensor_tensor(
    issue: Issue,
    dst: NkiTensor,
    data: NkiTensor,
    op0: Callable,
    operand0: float | NkiTensor,
    op1: Callable,
    operand1: NkiTensor,
    reverse0: bool = False,
    reverse1: bool = False,
    reduce_cmd: commands = commands.reset_reduce,
    reduce_op: Callable | None = None,
    reduce_res: NkiTensor | None = None,
) -> None:
    """Write ``(data op0 operand0) op1 operand1``, where operand1 is a tile.

    With ``reduce_op`` (NKI 0.7) the FP32 results are reduced as tensor_scalar_reduce reduces its own.
    """
    issue.check("dst", dst)
    issue.not_both_psum(data=data, operand1=operand1)
    values = issue.tile("data", data)
    names = operator_name(issue, "op0", op0), operator_name(issue, "op1", op1)
    made = trainium3.scalar_tensor_tensor(
        values,
        names[0],
        issue.scalar("operand0", operand0, len(values)),
        names[1],
        issue.tile("operand1", operand1),
        reverse0=reverse0,
        reverse1=reverse1,
        dtype=issue.result(dst) if reduce_op is None else np.float32,
    )
    if reduce_op is None:
        issue.put("dst", dst, made)
    else:
        # A product by 1 is exact, so that the FP32 results are those that are cast and reduced.
        put_and_reduce(issue, dst, data, made, ("multiply", 1.0), reduce_op, reduce_cmd, reduce_res)
    halved = all(each.dtype == "bfloat16" for each in (dst, data, operand1)) and free_size(dst) % 2 == 0
    fast = issue.rates.halves and halved and names == ("subtract", "multiply")
    extra = 0 if reduce_op is None else READ_REGISTERS
    issue.elementwise("vector", dst, data, operand1, factor=1 if fast else 2, extra=extra)


@instruction
def reciprocal(issue: Issue, dst: NkiTensor, data: NkiTensor) -> None:
    """Write ``1 / data``, rounded once to FP32."""
    issue.check("dst", dst)
    issue.put("dst", dst, trainium3.reciprocal(issue.tile("data", data), dtype=issue.result(dst)))
    issue.uses("reciprocal.rounding")
    issue.on("vector", max(LEAST, issue.rates.reciprocal_cycles * free_size(dst, data)))


# quantize_mx and exponential: VectorE's own instructions of Trainium3.


HALVES = ("bfloat16", "float16")


@instruction
def quantize_mx(issue: Issue, dst: NkiTensor, src: NkiTensor, dst_scale: NkiTensor) -> None:
    """Quantise [P, 4 F] to [P, F] words of four elements, and a scale for each 8 partitions of a word.

    Bits as `bitpath.golden.trainium3.quantize_mx`, by the release's scale rule. The scale of rows 8 b to 8 b + 7 goes to partition ``32 (b // 4) + b % 4`` of
    dst_scale; its other partitions stay.
    """
    issue.needs_gen4()
    issue.check("dst", dst, SBUF, tuple(X4))
    issue.check("dst_scale", dst_scale, SBUF, issue.release.scale_dtypes, starts=False)
    issue.check_direct("dst_scale", dst_scale)
    values = issue.tile("src", src, SBUF, HALVES)
    rule = issue.core.options.scale_rule or issue.release.scale_rule
    data, scale = trainium3.quantize_mx(values, DTYPES[X4[dst.dtype]], scale_rule=rule.value)
    words = trainium3.pack_x4(data)
    issue.put("dst", dst, words)
    if dst_scale.size // dst_scale.shape[0] != scale.shape[1]:
        raise issue.fail(f"dst_scale: must have {scale.shape[1]} scales in each partition, not shape {dst_scale.shape}")
    blocks = QUADRANT // SCALE_PARTITIONS
    for block, row in enumerate(scale):
        p = QUADRANT * (block // blocks) + block % blocks
        if p >= dst_scale.shape[0]:
            raise issue.fail(f"dst_scale: must have partition {p}, not shape {dst_scale.shape}")
        access.store(issue.core, dst_scale.at(p), row)
    issue.writes(dst_scale)
    issue.show("dst_scale", scale, result=True)
    issue.uses(f"quantize_mx.{rule.value}")
    issue.elementwise("vector", src)


@instruction
def exponential(
    issue: Issue,
    dst: NkiTensor,
    src: NkiTensor,
    max_value: float | NkiTensor = 0.0,
    reduce_res: NkiTensor | None = None,
    reduce_cmd: commands = commands.idle,
    reduce_init: float | NkiTensor = 0.0,
) -> None:
    """Write ``exp(src - max_value)``, and add the values onto VectorE's registers as ``reduce_cmd`` says.

    Bits as `bitpath.golden.trainium3.exponential`, with the preset of the run's options.
    """
    issue.needs_gen4()
    issue.check("dst", dst)
    values = issue.tile("src", src)
    numerics = EXPONENTIALS[issue.core.options.exponential]
    made, after = trainium3.exponential(
        values,
        issue.scalar("max_value", max_value, len(values)),
        dtype=issue.result(dst),
        reduce_cmd=word(reduce_cmd.name),
        accumulators=issue.registers("vector", src) if reduce_cmd is commands.reduce else None,
        reduce_init=issue.scalar("reduce_init", reduce_init, len(values))
        if reduce_cmd is commands.load_reduce
        else None,
        numerics=numerics,
    )
    issue.put("dst", dst, made)
    issue.accumulated("vector", src, after, reduce_res)
    issue.uses("exponential")
    if after is not None:
        issue.uses("reduction.order")
        if dst.dtype != "float32":
            issue.uses("exponential.sum_before_cast" if numerics.sum_before_cast else "exponential.sum_of_dst")
    issue.elementwise("vector", dst, src)


STATES = {"vector": XORWOW_STATES, "gpsimd": GPSIMD_XORWOW_STATES}
"""Generators of a partition, by engine."""


def _random_engine(issue: Issue, chosen: engines, default: str) -> str:
    own = engine_name(chosen, default)
    if own not in STATES:
        raise issue.fail(f"engine: must be {' or '.join(STATES)}, not {own}")
    return own


def _states(issue: Issue, engine: str) -> np.ndarray:
    """Return the states of an engine; those of seed 0 unless a kernel has set them."""
    issue.keeps_order("generators")
    return issue.core.random.setdefault(engine, trainium3.seeded_state(0)[:, : STATES[engine]])


def _generators(issue: Issue, tile: NkiTensor, engine: str = "vector") -> trainium3.Xorwow:
    """Return the generators of a tile's partitions."""
    return trainium3.Xorwow(_states(issue, engine)[issue.rows(tile)])


def _keep(issue: Issue, tile: NkiTensor, source: trainium3.Xorwow, engine: str = "vector") -> None:
    _states(issue, engine)[issue.rows(tile)] = source.state


def _cycles(issue: Issue, tile: NkiTensor, engine: str = "vector") -> None:
    issue.uses("rng")
    n = free_size(tile)
    issue.on(engine, gpsimd_cycles(n) if engine == "gpsimd" else max(LEAST, -(-n // XORWOW_STATES)))


@instruction
def rng(issue: Issue, dst: NkiTensor, engine: engines = engines.vector) -> None:
    """Write the low bits of random words; GpSimd's generators write to SBUF alone."""
    own = _random_engine(issue, engine, "vector")
    issue.check("dst", dst, SBUF if own == "gpsimd" else CHIP)
    source = _generators(issue, dst, own)
    issue.put("dst", dst, trainium3.rng(source, dst.size // dst.shape[0], dtype=issue.result(dst)))
    _keep(issue, dst, source, own)
    _cycles(issue, dst, own)


@instruction
def rand2(issue: Issue, dst: NkiTensor, min: float | NkiTensor, max: float | NkiTensor) -> None:
    """Write uniform numbers between two bounds, numbers or [P, 1]."""
    issue.needs_gen4()
    issue.check("dst", dst)
    source = _generators(issue, dst)
    issue.show("states", source.state)
    low, high = (issue.scalar(name, each, dst.shape[0]) for name, each in (("min", min), ("max", max)))
    issue.put("dst", dst, trainium3.rand2(source, dst.size // dst.shape[0], low, high, dtype=issue.result(dst)))
    _keep(issue, dst, source)
    _cycles(issue, dst)


@instruction
def set_rng_seed(issue: Issue, src_seeds: NkiTensor) -> None:
    """Set all of VectorE's generators from one 32-bit number [1, 1]."""
    seeds = issue.tile("src_seeds", src_seeds, dtypes=("int32", "uint32"))
    if seeds.shape != (1, 1):
        raise issue.fail(f"src_seeds: must have shape (1, 1), not {src_seeds.shape}")
    issue.core.random["vector"] = trainium3.seeded_state(int(seeds.view(np.uint32)[0, 0]))
    issue.keeps_order("generators")
    issue.uses("rng")
    issue.on("vector", LEAST)


@instruction
def rand_set_state(issue: Issue, src_seeds: NkiTensor, engine: engines = engines.gpsimd) -> None:
    """Load the words of each partition's generators: 24 of VectorE, which needs gen4, or 6 of GpSimd.

    VectorE's may lie where the release says, GpSimd's in SBUF.
    """
    own = _state_engine(issue, engine)
    memories = SBUF if own == "gpsimd" else issue.release.seed_memories
    words = issue.tile("src_seeds", src_seeds, memories, ("uint32",))
    count = STATES[own] * XORWOW_WORDS
    if words.shape[1] != count:
        raise issue.fail(f"src_seeds: must have {count} words in each partition on {own}, not {words.shape[1]}")
    _states(issue, own)[issue.rows(src_seeds)] = words.reshape(len(words), STATES[own], XORWOW_WORDS)
    issue.on(own, gpsimd_cycles(count) if own == "gpsimd" else LEAST)


@instruction
def rand_get_state(issue: Issue, dst: NkiTensor, engine: engines = engines.gpsimd) -> None:
    """Store the words of each partition's generators: 24 of VectorE, which needs gen4, or 6 of GpSimd, to SBUF."""
    own = _state_engine(issue, engine)
    issue.check("dst", dst, SBUF if own == "gpsimd" else CHIP, ("uint32",))
    words = _states(issue, own)[issue.rows(dst)].reshape(dst.shape[0], -1)
    issue.put("dst", dst, words)
    issue.uses("rng")
    issue.on(own, gpsimd_cycles(words.shape[1]) if own == "gpsimd" else LEAST)


def _state_engine(issue: Issue, chosen: engines) -> str:
    own = _random_engine(issue, chosen, "gpsimd")
    if own == "vector":
        issue.needs_gen4("engine: vector")
    return own


@instruction
def dropout(issue: Issue, dst: NkiTensor, data: NkiTensor, prob: float | NkiTensor) -> None:
    """Keep an element if its next random number of [0, 1) is at least ``prob``, else write +0."""
    issue.check("dst", dst, dtypes=(data.dtype,))
    values = issue.tile("data", data)
    source = _generators(issue, data)
    issue.put("dst", dst, trainium3.dropout(source, values, issue.scalar("prob", prob, len(values))))
    _keep(issue, data, source)
    issue.uses("rng")
    issue.elementwise("vector", dst, data)
