"""tensor_copy and memset: elements moved or set, on VectorE, ScalarE or GpSimd with the same bits."""

import numpy as np

from bitpath.golden import trainium3
from bitpath.golden.nki.isa.enums import engine as engines
from bitpath.golden.nki.isa.enums import engine_name
from bitpath.golden.nki.machine.issue import CHIP, SBUF, Issue, byte_sizes, instruction
from bitpath.golden.nki.memory.dtypes import INTEGERS, STORED, X4
from bitpath.golden.nki.memory.tensor import NkiTensor

ELEMENTWISE = ("vector", "scalar", "gpsimd")
"""Engines of elementwise instructions."""


def _engine(issue: Issue, chosen: engines, default: str) -> str:
    own = engine_name(chosen, default)
    if own not in ELEMENTWISE:
        raise issue.fail(f"engine: must be {', '.join(ELEMENTWISE)} or unknown, not {own}")
    return own


def on_engine(issue: Issue, chosen: engines, *tensors: NkiTensor, factor: int = 1, default: str = "vector") -> str:
    """Set engine and cycles of an elementwise instruction, and return the engine; GpSimd cannot reach PSUM."""
    own = _engine(issue, chosen, default)
    if own == "gpsimd":
        for each in tensors:
            if isinstance(each, NkiTensor) and each.allocation.buffer == "psum":
                raise issue.fail(f"engine: GpSimd cannot reach PSUM, where {each.name} is")
    issue.elementwise(own, *tensors, factor=factor)
    return own


@instruction
def tensor_copy(issue: Issue, dst: NkiTensor, src: NkiTensor, engine: engines = engines.unknown) -> None:
    """Copy a tile: bits where the dtypes agree, else through FP32. Bits as `bitpath.golden.trainium3.tensor_copy`."""
    issue.check("dst", dst, CHIP)
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
    sizes = byte_sizes(dst)
    halved = issue.rules.halves and sizes[0] <= 2 and value == 0
    issue.on(own, issue.rules.elementwise(own, -(-shape[1] // 2) if halved else shape[1], *sizes))
