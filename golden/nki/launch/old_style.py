"""Kernels of NKI 0.1: ``neuronxcc.nki.jit``, grids of instances, and the names for the compiler, which have no effect."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import wraps
from typing import Any

import numpy as np

from bitpath.golden.nki.declarations.errors import NkiValidationError
from bitpath.golden.nki.declarations.releases import NEWEST
from bitpath.golden.nki.launch.kernel import Kernel
from bitpath.golden.nki.machine.core import present_core
from bitpath.golden.nki.memory.storage import MemoryRegion
from bitpath.golden.nki.memory.tensor import NkiTensor
from bitpath.golden.nki.old.language import Cores
from bitpath.golden.nki.old.tiles import PROGRAM, Program, Tile, each_of


class OldKernel(Kernel):
    """A function that ``@nki.jit`` of ``neuronxcc`` decorates; ``kernel[4, 2]`` runs eight instances, one after the other.

    A dimension ``nl.nc(2)`` divides them between two cores.
    """

    def __init__(self, function: Callable, grid: Sequence[Any] = ()):
        self.source = function
        self.grid = tuple(each if isinstance(each, Cores) else Cores(int(each), 1) for each in grid)
        cores = max((each.cores for each in self.grid), default=1)
        super().__init__(function, cores if cores > 1 else None)

        @wraps(function)
        def instances(*args: Any, **kwargs: Any) -> Any:
            return self._instances(*args, **kwargs)

        self.function = instances

    def __getitem__(self, grid: Any) -> "OldKernel":
        return OldKernel(self.source, grid if isinstance(grid, tuple) else (grid,))

    def _instances(self, *args: Any, **kwargs: Any) -> Any:
        outer = PROGRAM.get()
        if outer is not None and not self.grid:
            return self.source(*args, **kwargs)
        if outer is not None:
            outer.settle()
        elif (release := present_core().options.own_release).parameters:
            raise NkiValidationError(
                f"release must be {NEWEST} for a kernel of NKI 0.1, which runs on its instructions, not {release.sdk}"
            )
        wrapped = each_of(args, NkiTensor, Tile), each_of(kwargs, NkiTensor, Tile)
        shared: list[NkiTensor] = []
        sizes, outputs = tuple(each.size for each in self.grid), None
        for place in np.ndindex(*sizes):
            core = next((d.core(at) for d, at in zip(self.grid, place, strict=True) if d.cores > 1), 0)
            if present_core().machine.size > 1 and core != present_core().place:
                continue
            program = Program(sizes, place, shared)
            token = PROGRAM.set(program)
            try:
                outputs = self.source(*wrapped[0], **wrapped[1])
                outputs = each_of(outputs, Tile, Tile.part) if outer is None else outputs
                program.settle()
            finally:
                PROGRAM.reset(token)
        return outputs


def jit(function: Callable | None = None, **ignored: Any) -> Any:
    """Make a kernel of a function; keywords, which are for the compiler, have no effect."""
    if function is None:
        return jit
    return function if isinstance(function, Kernel) else OldKernel(function)


def plain(function: Callable | None = None, **ignored: Any) -> Any:
    """Return a function as it is, for decorators that steer the compiler."""
    return plain if function is None else function


def simulate_kernel(kernel: Kernel, *args: Any, **kwargs: Any) -> Any:
    """Run a kernel and return its outputs."""
    return kernel(*args, **kwargs)


OLD_NKI: dict[str, Any] = dict.fromkeys(("jit", "trace", "benchmark", "baremetal", "profile"), jit) | {
    "simulate_kernel": simulate_kernel
}
OLD_COMPILER: dict[str, Any] = {
    **dict.fromkeys(("enable_stack_allocator", "force_auto_alloc", "skip_middle_end_transformations"), plain),
    "no_reorder": nullcontext,
}


def allocators(region: MemoryRegion) -> dict[str, Any]:
    """Return the allocators of a memory, which leave the place to the model: that of a tile changes no values."""
    return dict.fromkeys(("alloc", "mod_alloc", "auto_alloc"), lambda *ignored, **options: region)
