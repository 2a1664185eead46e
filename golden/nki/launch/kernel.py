"""Kernels and their runs: ``nki.jit``, the grid of cores, and the result of a run."""

import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass, replace
from functools import update_wrapper
from inspect import signature
from typing import Any

import ml_dtypes
import numpy as np

from bitpath.golden.nki.declarations.errors import ORDER, WARN, NkiValidationError, source_of
from bitpath.golden.nki.declarations.releases import Release
from bitpath.golden.nki.machine.core import PRESENT, RELEASE, Machine, NeuronCore, Options, Stopped, Turns, hbm_tensor
from bitpath.golden.nki.machine.placement import settle
from bitpath.golden.nki.machine.queues import by_priority
from bitpath.golden.nki.machine.release import named_release
from bitpath.golden.nki.machine.timeline import Executed, NkiInstruction, Times, times
from bitpath.golden.nki.memory.dtypes import STORED, dtype_name
from bitpath.golden.nki.memory.tensor import NkiTensor

# Arguments and results of a launch: numpy arrays of the caller, HBM tensors of the kernel.


@dataclass(frozen=True, eq=False)
class HostTensor:
    """An array with a dtype of ``nl`` that numpy lacks: x4 words in uint32 or uint16, E8M0 in uint8, TF32 in float32.

    Attributes
    ----------
    array : words of the dtype.
    dtype : its name.
    """

    array: np.ndarray
    dtype: str


def host_tensor(array: np.ndarray, dtype: Any) -> HostTensor:
    """Return an argument whose words are of a dtype that numpy lacks.

    Raises NkiValidationError if the array's elements have another size.
    """
    name = dtype_name(dtype)
    if array.dtype.itemsize != STORED[name].itemsize:
        raise NkiValidationError(
            f"array must have elements of {STORED[name].itemsize} bytes for {name}, not {array.dtype}"
        )
    return HostTensor(array, name)


@dataclass(frozen=True, eq=False)
class PerRank:
    """An argument that differs between ranks: rank r gets ``values[r]``."""

    values: Sequence[Any]


def of_rank(machine: Machine, name: str, value: Any) -> Any:
    """Return a rank's own value of an argument.

    Raises NkiValidationError unless there is one for each rank.
    """
    if not isinstance(value, PerRank):
        return value
    if len(value.values) != machine.ranks:
        raise NkiValidationError(f"{name} must have {machine.ranks} values, one for each rank, not {len(value.values)}")
    return value.values[machine.rank]


def given(machine: Machine, name: str, value: Any) -> Any:
    """Return a kernel's argument: an HBM tensor for an array, anything else as it is."""
    if isinstance(value, HostTensor):
        array, dtype = value.array, value.dtype
    elif isinstance(value, np.ndarray):
        array, dtype = value, dtype_name(value.dtype)
    else:
        if isinstance(value, list) and machine.options.strict:
            raise NkiValidationError(f"{name}: must not be a list in a strict run; pass a tuple")
        return value
    buffer = "private_hbm" if machine.size == 1 else "shared_hbm"
    made = hbm_tensor(array.shape or (1,), dtype, buffer, name, shared=machine.size > 1)
    storage = made.allocation.storage
    storage.data[0] = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    storage.written[:] = True
    return made


def contents(tensor: NkiTensor) -> np.ndarray:
    """Return a tensor's elements as a numpy array; bool as numpy's."""
    values = tensor.elements().copy()
    if tensor.dtype == "float8_e8m0fnu":
        return values.view(ml_dtypes.float8_e8m0fnu)
    return values.astype(bool) if tensor.dtype == "bool" else values


def give_back(value: Any, tensor: Any) -> None:
    """Write a tensor that the kernel has written into the caller's array."""
    array = value.array if isinstance(value, HostTensor) else value
    if isinstance(tensor, NkiTensor) and isinstance(array, np.ndarray) and array.flags.writeable:
        words = tensor.elements()
        array[...] = words.astype(bool) if array.dtype == bool else words.view(array.dtype).reshape(array.shape)


def results(value: Any, arguments: Collection[Any] = ()) -> Any:
    """Return a kernel's results, tensors as arrays.

    Raises NkiValidationError for a tensor that is neither in shared HBM nor one of the kernel's arguments.
    """
    if isinstance(value, NkiTensor):
        own = [each.allocation for each in arguments if isinstance(each, NkiTensor)]
        if value.allocation.buffer != "shared_hbm" and value.allocation not in own:
            raise NkiValidationError(f"a returned tensor must be in shared_hbm, not {value!r}")
        return contents(value)
    if isinstance(value, tuple | list):
        return type(value)(results(each, arguments) for each in value)
    return value


def _tensors(value: Any) -> Iterator[NkiTensor]:
    if isinstance(value, NkiTensor):
        yield value
    elif isinstance(value, tuple | list):
        for each in value:
            yield from _tensors(each)


def check_written(machine: Machine, given_back: Iterable[Any]) -> None:
    """Warn of tensors that a caller gets and that have bytes that nothing has written."""
    for tensor in dict.fromkeys(_tensors([*given_back])):
        known = tensor.bytes_of(tensor.allocation.storage.written)
        if not known.all():
            missing = f"{known.size - known.sum()} of {known.size} bytes are returned that nothing has written"
            machine.warn("returned", f"{tensor.name}: {missing}", tensor.allocation.line)


# The standing of a run: the weakest of the choices that its instructions' results depend on.


@dataclass(frozen=True)
class Standing:
    """The standing of a run.

    Attributes
    ----------
    word : the weakest of the choices' standings, "documented" without choices.
    keys : the choices that influenced the run, with the standing of each.
    """

    word: str
    keys: Mapping[str, str]

    def __str__(self) -> str:
        return self.word


def standing_of(used: Iterable[frozenset[str]]) -> Standing:
    """Return the standing of instructions, given the keys of each."""
    keys = {key: source_of(key).kind for each in used for key in sorted(each)}
    return Standing(max(keys.values(), key=ORDER.index, default=ORDER[0]), dict(sorted(keys.items())))


@dataclass(frozen=True, eq=False)
class Run:
    """Result of a launch: outputs, cycles, warnings and standing.

    Attributes
    ----------
    outputs : what the kernel returned, tensors as numpy arrays; with ranks a list of it, one for each.
    cycles : sums by engine, serial and overlapped time.
    instructions : all instructions of all cores, in their order; core k of rank r has number r * cores + k.
    warnings : sentences on what the machine leaves undefined, each with its line.
    standing : the weakest standing among the choices that influenced the run, and which those are.
    high_water : most bytes of a partition of SBUF, by 64, and of PSUM, by banks, that are in use at one time in any core.
    """

    outputs: Any
    cycles: Times
    instructions: tuple[NkiInstruction, ...]
    warnings: tuple[str, ...]
    standing: Standing
    high_water: dict[str, int]


class Kernel:
    """A function that ``@nki.jit`` decorates. A call runs it, ``kernel[2]`` on two cores; in a kernel it is plain."""

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
    release: str | Release | None = None,
    ranks: int | None = None,
    watch: Callable[[Executed], None] | None = None,
    **kwargs: Any,
) -> Run:
    """Run a kernel and return its outputs with cycles, instructions, warnings and standing.

    Parameters
    ----------
    kernel : a kernel or a plain function, ``kernel[2]`` for two cores.
    args, kwargs : the kernel's arguments; numpy arrays become HBM tensors, and take back what the kernel writes into them.
        A `PerRank` has a value for each rank; an array that all ranks get takes back what rank 0 writes.
    options : of the machine and its numerics.
    release : in place of the options' release.
    ranks : launches of the kernel, which `nki.collectives` connects; None for one.
    watch : gets each instruction with the values that it read and wrote.

    Raises
    ------
    NkiValidationError : the kernel breaks a rule of the machine.
    NotImplementedError : it uses what is not modelled; the sentence names it.
    """
    own = kernel if isinstance(kernel, Kernel) else Kernel(kernel)
    if ranks is not None and (isinstance(ranks, bool) or not hasattr(ranks, "__index__") or ranks.__index__() < 1):
        raise NkiValidationError(f"ranks must be an integer of at least 1, not {ranks!r}")
    options = options or Options()
    options = options if release is None else replace(options, release=release)
    machine = Machine(options, own.cores or 1, ranks=1 if ranks is None else ranks.__index__())
    machine.watch = watch
    cores: list[NeuronCore] = []
    arguments = []
    for rank in range(machine.ranks):
        of = machine if rank == 0 else replace(machine, rank=rank, shared={})
        cores += [NeuronCore(of, len(cores) + place, grid=own.cores is not None) for place in range(of.size)]
        arguments.append(_Arguments(of, own.function, args, kwargs))
    found = _on_cores(cores, lambda core: arguments[core.machine.rank].call(own.function))
    outputs = [each.finish(found[rank * machine.size]) for rank, each in reversed([*enumerate(arguments)])][::-1]
    high_water = settle(machine, cores)
    return Run(
        outputs=outputs[0] if ranks is None else outputs,
        cycles=times(by_priority(machine.instructions), machine.options.rates),
        instructions=tuple(machine.instructions),
        warnings=tuple(machine.messages.values()),
        standing=standing_of(each.keys for each in machine.instructions),
        high_water=high_water,
    )


class _Arguments:
    """A rank's arguments, and the caller's values that they were made of."""

    def __init__(self, machine: Machine, function: Callable, args: Sequence[Any], kwargs: Mapping[str, Any]):
        self._machine = machine
        names = list(signature(function).parameters)
        named = [*zip(names, args, strict=False), *kwargs.items()]
        values = {name: of_rank(machine, name, value) for name, value in named}
        tensors = {name: given(machine, name, value) for name, value in values.items()}
        more = {f"argument_{k}": each for k, each in enumerate(args[len(names) :])}
        rest = [given(machine, name, of_rank(machine, name, each)) for name, each in more.items()]
        self._pairs = [(values[name], tensors[name]) for name in values]
        self._positional = [tensors[name] for name in names[: len(args)]] + rest
        self._keywords = {name: tensors[name] for name in kwargs}

    def call(self, function: Callable) -> Any:
        return function(*self._positional, **self._keywords)

    def finish(self, outputs: Any) -> Any:
        """Give the caller's arrays back, and return the outputs."""
        for value, tensor in self._pairs:
            give_back(value, tensor)
        check_written(self._machine, [outputs, *(tensor for _, tensor in self._pairs)])
        return results(outputs, [*self._positional, *self._keywords.values()])


def _on_cores(cores: list[NeuronCore], call: Callable[[NeuronCore], Any]) -> dict[int, Any]:
    """Run the call on each core, by turns; return what each returns, by the core's number."""
    if len(cores) == 1:
        return {0: copy_context().run(_on_core, cores[0], call)}
    turns = Turns([_name(core) for core in cores])
    for core in cores:
        core.machine.turns = turns
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
    return found


def _name(core: NeuronCore) -> str:
    """Return a core's name in a sentence: its rank, its number there, or both."""
    of = core.machine
    parts = [f"core {core.place}"] * (of.size > 1) + [f"rank {of.rank}"] * (of.ranks > 1)
    return " of ".join(parts)


def _on_core(core: NeuronCore, call: Callable[[NeuronCore], Any]) -> Any:
    PRESENT.set(core)
    WARN.set(core.machine.warn)
    return call(core)


@contextmanager
def release(name: str | Release) -> Iterator[None]:
    """Run the kernels of a block as a release has it, where their options name none: also those that are called."""
    token = RELEASE.set(named_release(name))
    try:
        yield
    finally:
        RELEASE.reset(token)


def simulate(kernel: Kernel) -> Kernel:
    """Return the kernel: a call runs it here in any case."""
    return kernel
