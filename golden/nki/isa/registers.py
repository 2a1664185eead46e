"""Registers: allocated, moved, loaded from and stored to a tensor of one element.

Ref: ``nki.isa`` reference page, NKI 0.6. That an FP32 element is loaded as its bits is inferred.
"""

import numpy as np

from bitpath.golden.nki.machine import access
from bitpath.golden.nki.machine.issue import ANY, Issue, instruction
from bitpath.golden.nki.memory.dtypes import STORED
from bitpath.golden.nki.memory.registers import VirtualRegister
from bitpath.golden.nki.memory.tensor import NkiTensor


def register_alloc(x: int | NkiTensor | None = None) -> VirtualRegister:
    """Return a new register that holds a number, what a tensor of one element holds, or 0."""
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
