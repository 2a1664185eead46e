"""quantize_mx and exponential: VectorE's own instructions of Trainium3."""

from bitpath.golden import trainium3
from bitpath.golden.arrays.codec import DTYPES
from bitpath.golden.nki.isa.enums import reduce_cmd as commands
from bitpath.golden.nki.isa.enums import word
from bitpath.golden.nki.machine import access
from bitpath.golden.nki.machine.issue import CHIP, SBUF, Issue, free_size, instruction
from bitpath.golden.nki.memory.dtypes import SCALES, X4
from bitpath.golden.nki.memory.tensor import NkiTensor
from bitpath.golden.trainium3.declarations.quad_mx import QUADRANT, SCALE_PARTITIONS

HALVES = ("bfloat16", "float16")


@instruction
def quantize_mx(issue: Issue, dst: NkiTensor, src: NkiTensor, dst_scale: NkiTensor) -> None:
    """Quantise [P, 4 F] to [P, F] words of four elements, and a scale for each 8 partitions of a word.

    Bits as `bitpath.golden.trainium3.quantize_mx`. The scale of rows 8 b to 8 b + 7 goes to partition ``32 (b // 4) + b % 4`` of
    dst_scale; its other partitions stay.
    """
    issue.needs_gen4()
    issue.check("dst", dst, SBUF, tuple(X4))
    issue.check("dst_scale", dst_scale, SBUF, SCALES, starts=False)
    issue.check_direct("dst_scale", dst_scale)
    values = issue.tile("src", src, CHIP, HALVES)
    rule = issue.core.options.scale_rule
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
        access.store(issue.core, access.row_of(dst_scale, p), row)
    issue.writes(dst_scale)
    issue.show("dst_scale", scale, result=True)
    issue.uses(f"quantize_mx.{rule.value}")
    issue.on("vector", max(64, values.shape[1] // 4))


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

    Bits as `bitpath.golden.trainium3.exponential`.
    """
    issue.needs_gen4()
    issue.check("dst", dst)
    values = issue.tile("src", src)
    made, after = trainium3.exponential(
        values,
        issue.scalar("max_value", max_value, len(values)),
        dtype=issue.result(dst),
        reduce_cmd=word(reduce_cmd.name),
        accumulators=issue.registers("vector", src) if reduce_cmd is commands.reduce else None,
        reduce_init=issue.scalar("reduce_init", reduce_init, len(values))
        if reduce_cmd is commands.load_reduce
        else None,
    )
    issue.put("dst", dst, made)
    issue.accumulated("vector", src, after, reduce_res)
    issue.uses("exponential")
    if after is not None:
        issue.uses("reduction.order")
    issue.on("vector", max(64, -(-free_size(dst, src) // 4)))
