"""Kernels and their runs: ``nki.jit``, the grid of cores, and what a run returns."""

import threading
from collections.abc import Callable
from contextvars import copy_context
from dataclasses import dataclass
from functools import update_wrapper
from inspect import signature
from typing import Any

from bitpath.golden.nki.declarations.errors import WARN, NkiValidationError
from bitpath.golden.nki.launch.host import give_back, given, results
from bitpath.golden.nki.launch.standing import Standing, standing_of
from bitpath.golden.nki.machine.core import PRESENT, Machine, NeuronCore
from bitpath.golden.nki.machine.options import Options
from bitpath.golden.nki.machine.record import Executed, NkiInstruction
from bitpath.golden.nki.machine.timeline import Times, times
from bitpath.golden.nki.machine.turns import Stopped, Turns


@dataclass(frozen=True, eq=False)
class Run:
    """What a launch gave.

    Attributes
    ----------
    outputs : what the kernel returned, tensors as numpy arrays.
    cycles : sums by engine, serial and overlapped time.
    instructions : all instructions of all cores, in their order.
    warnings : sentences on what the machine leaves undefined, each with its line.
    standing : the weakest standing among the choices that influenced the run, and which those are.
    high_water : most bytes of a partition that tensors of SBUF and of PSUM reached, the most of all cores.
    """

    outputs: Any
    cycles: Times
    instructions: tuple[NkiInstruction, ...]
    warnings: tuple[str, ...]
    standing: Standing
    high_water: dict[str, int]


class Kernel:
    """A function with ``@nki.jit``. A call runs it, ``kernel[2]`` on two cores; within a kernel it is a plain call."""

    def __init__(self, function: Callable, cores: int | None = None):
        self.function, self.cores = function, cores
        update_wrapper(self, function)

    def __getitem__(self, grid: Any) -> "Kernel":
        cores = grid[0] if isinstance(grid, tuple) and len(grid) == 1 else grid
        if isinstance(cores, bool) or not hasattr(cores, "__index__") or cores.__index__() not in (1, 2):
            raise NkiValidationError(f"a grid must be 1 or 2 cores, not {grid!r}")
        return Kernel(self.function, cores.__index__())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if PRESENT.get() is not None:
            return self.function(*args, **kwargs)
        return run(self, *args, **kwargs).outputs


def jit(function: Callable | None = None, **ignored: Any) -> Any:
    """Make a kernel of a function; keywords, which are for the compiler, have no effect."""
    return Kernel if function is None else Kernel(function)


def run(
    kernel: Kernel | Callable,
    *args: Any,
    options: Options | None = None,
    watch: Callable[[Executed], None] | None = None,
    **kwargs: Any,
) -> Run:
    """Run a kernel and return its outputs with cycles, instructions, warnings and standing.

    Parameters
    ----------
    kernel : a kernel or a plain function, ``kernel[2]`` for two cores.
    args, kwargs : the kernel's arguments; numpy arrays become HBM tensors, and take back what the kernel writes into them.
    options : of the machine and its numerics.
    watch : gets each instruction with the values that it read and wrote.

    Raises
    ------
    NkiValidationError : the kernel breaks a rule of the machine.
    NotImplementedError : it uses what is not modelled; the sentence names it.
    """
    own = kernel if isinstance(kernel, Kernel) else Kernel(kernel)
    machine = Machine(options or Options(), own.cores or 1)
    machine.watch = watch
    names = list(signature(own.function).parameters)
    named = [*zip(names, args, strict=False), *kwargs.items()]
    tensors = {name: given(machine, name, value) for name, value in named}
    rest = [given(machine, f"argument_{k}", each) for k, each in enumerate(args[len(names) :])]
    positional = [tensors[name] for name in names[: len(args)]] + rest
    keywords = {name: tensors[name] for name in kwargs}
    cores = [NeuronCore(machine, number, grid=own.cores is not None) for number in range(machine.size)]
    outputs = _on_cores(machine, cores, lambda: own.function(*positional, **keywords))
    for name, value in named:
        give_back(value, tensors[name])
    high = [core.high_water() for core in cores]
    return Run(
        outputs=results(outputs, [*positional, *keywords.values()]),
        cycles=times(machine.instructions),
        instructions=tuple(machine.instructions),
        warnings=tuple(machine.messages.values()),
        standing=standing_of(each.keys for each in machine.instructions),
        high_water={name: max(each[name] for each in high) for name in high[0]},
    )


def _on_cores(machine: Machine, cores: list[NeuronCore], call: Callable[[], Any]) -> Any:
    """Run the call on each core, by turns; return what core 0 returns."""
    if len(cores) == 1:
        return copy_context().run(_on_core, cores[0], call)
    machine.turns = turns = Turns(len(cores))
    found: dict[int, Any] = {}
    errors: list[BaseException] = []

    def work(core: NeuronCore) -> None:
        try:
            turns.begin(core.number)
            found[core.number] = _on_core(core, call)
        except Stopped:
            pass
        except BaseException as error:
            turns.failed = True
            errors.append(error)
        finally:
            turns.end(core.number)

    threads = [threading.Thread(target=copy_context().run, args=(work, core)) for core in cores]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return found[0]


def _on_core(core: NeuronCore, call: Callable[[], Any]) -> Any:
    PRESENT.set(core)
    WARN.set(core.machine.warn)
    return call()


def simulate(kernel: Kernel) -> Kernel:
    """Return the kernel: a call runs it here in any case."""
    return kernel
