"""sendrecv and core_barrier: what two cores of a launch exchange, and where they wait for each other."""

from typing import Any

import numpy as np

from bitpath.golden.nki.isa.dma import engine_bytes
from bitpath.golden.nki.isa.enums import dma_engine as dma_engines
from bitpath.golden.nki.isa.enums import engine as engines
from bitpath.golden.nki.isa.enums import engine_name
from bitpath.golden.nki.machine import access
from bitpath.golden.nki.machine.issue import ANY, SBUF, Issue, instruction
from bitpath.golden.nki.machine.timeline import LEAST
from bitpath.golden.nki.memory.dtypes import STORED
from bitpath.golden.nki.memory.storage import VirtualRegister
from bitpath.golden.nki.memory.tensor import NkiTensor

# Registers: allocated, moved, loaded from and stored to a tensor of one element.
#
# Ref: ``nki.isa`` reference page, NKI 0.6. The rule that an FP32 element is loaded as its bits is inferred.


def register_alloc(x: int | NkiTensor | None = None) -> VirtualRegister:
    """Return a new register that holds a number, the element of a tensor of one element, or 0."""
    made = VirtualRegister()
    if isinstance(x, NkiTensor):
        register_load(made, x)
    else:
        made.write(0 if x is None else x)
    return made


@instruction
def register_move(issue: Issue, dst: VirtualRegister, src: VirtualRegister | int) -> None:
    """Copy a register or a number into a register."""
    dst.write(int(src))


@instruction
def register_load(issue: Issue, dst: VirtualRegister, src: NkiTensor) -> None:
    """Load an element: an integer with its value, else its bits."""
    view = issue.check("src", src, ANY, starts=False)
    if view.size != 1:
        raise issue.fail(f"src: must have one element, not shape {view.shape}")
    value = access.load(issue.core, view).reshape(-1)
    issue.reads(view)
    dst.write(int(value[0] if value.dtype.kind in "iu" else value.view(f"u{value.itemsize}")[0]))


@instruction
def register_store(issue: Issue, dst: NkiTensor, src: VirtualRegister | int) -> None:
    """Store a register's low bits into an element."""
    view = issue.check("dst", dst, ANY, starts=False)
    if view.size != 1:
        raise issue.fail(f"dst: must have one element, not shape {view.shape}")
    word = int(src) % (1 << 8 * view.itemsize)
    access.store(issue.core, view, np.array([word], f"u{view.itemsize}").view(STORED[view.dtype]))
    issue.writes(view)


GPSIMD_BYTES = {4: 1024, 2: 512, 1: 256}
"""Most bytes of a partition that GpSimd's own DMA sends, by bytes of an element."""


@instruction
def core_barrier(issue: Issue, data: NkiTensor, cores: Any, engine: engines = engines.gpsimd) -> None:
    """Wait until both cores are here; what each has written to shared HBM before, the other may read behind it.

    In time its engine, and whatever touches ``data`` later, go on behind the later core.
    """
    issue.check("data", data, ANY, starts=False)
    if issue.core.machine.size > 1:
        if tuple(cores) != (0, 1):
            raise issue.fail(f"cores: must be (0, 1) in a launch of two cores, not {tuple(cores)}")
        issue.meet(("core_barrier",), None)
        if issue.core.place == 0:  # behind a meeting core 0 is the first to go on
            issue.core.machine.barriers += 1
    issue.reads(data)
    issue.writes(data)
    issue.on(engine_name(engine, "gpsimd"), LEAST)


@instruction
def sendrecv(
    issue: Issue,
    src: NkiTensor,
    dst: NkiTensor,
    send_to_rank: int,
    recv_from_rank: int,
    pipe_id: int,
    dma_engine: dma_engines = dma_engines.dma,
) -> None:
    """Send a tile of SBUF to the other core, and receive one of its shape and dtype, bit for bit."""
    issue.check("src", src, SBUF, starts=False)
    issue.check("dst", dst, SBUF, starts=False)
    if issue.core.machine.size < 2:
        raise issue.fail("needs a launch of two cores")
    if (src.shape, src.dtype) != (dst.shape, dst.dtype):
        raise issue.fail(
            f"dst: must have src's shape {src.shape} and dtype {src.dtype}, not {dst.shape} and {dst.dtype}"
        )
    other = 1 - issue.core.place
    if (int(send_to_rank), int(recv_from_rank)) != (other, other):
        raise issue.fail(f"send_to_rank and recv_from_rank: must be {other}, not {send_to_rank} and {recv_from_rank}")
    own = src.size // src.shape[0] * src.itemsize
    if dma_engine is dma_engines.gpsimd_dma and own > GPSIMD_BYTES[src.itemsize]:
        raise issue.fail(f"src: at most {GPSIMD_BYTES[src.itemsize]} bytes a partition with gpsimd_dma, not {own}")
    given = *access.sent(issue.core, src), src.box()
    data, written, theirs = issue.meet(("sendrecv", int(pipe_id)), given)
    if data.shape != (*src.shape, src.itemsize):
        raise issue.fail(f"src: the other core sends shape {data.shape[:-1]}, not {src.shape}")
    access.received(issue.core, dst, data, written)
    issue.reads(src, theirs)
    issue.writes(dst)
    issue.transfer(engine_bytes(dst, src))
