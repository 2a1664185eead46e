"""A NeuronCore while a kernel runs: SBUF, PSUM, HBM tensors, accumulators, and what has happened."""

import os
import threading
import warnings
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from enum import IntEnum
from math import prod
from typing import Any, Literal

import numpy as np

from bitpath.golden.nki.declarations.errors import UNDEFINED, NkiValidationError, NkiWarning, invalid, kernel_line
from bitpath.golden.nki.declarations.releases import NEWEST, Release
from bitpath.golden.nki.machine.release import named_release
from bitpath.golden.nki.machine.timeline import RATES, Executed, NkiInstruction
from bitpath.golden.nki.memory.dtypes import STORED, dtype_name, is_float
from bitpath.golden.nki.memory.storage import Allocation, MemoryRegion, Storage
from bitpath.golden.nki.memory.tensor import NkiTensor
from bitpath.golden.scalar.checked import check_choice, member
from bitpath.golden.trainium3.declarations.dma import TRAINIUM3_DMA, CollectiveAlgorithm
from bitpath.golden.trainium3.declarations.memory import PSUM_BANK_BYTES, PSUM_PARTITION_BYTES
from bitpath.golden.trainium3.declarations.quad_mx import PARTITIONS, ScaleRule
from bitpath.golden.trainium3.declarations.rates import CoreRates
from bitpath.golden.trainium3.declarations.vector import (
    TRAINIUM3_EXPONENTIAL,
    TRAINIUM3_EXPONENTIAL_OF_DST,
    SumOrder,
)

# Options of a run: the machine, its numerics, and how strict the model is.


class nc_version(IntEnum):
    """Generations of the NeuronCore; later ones compare as greater. Ref: ``nki.isa`` reference page."""

    gen2 = 2
    gen3 = 3
    gen4 = 4


@dataclass(frozen=True)
class Limits:
    """Sizes that differ between generations.

    Attributes
    ----------
    version : the generation.
    partition_bytes : bytes of an SBUF partition.
    usable_bytes : those that kernels may allocate.
    most_moving : columns of a matmul's moving operand, by bytes of the result's element; None where the release says.
    """

    version: nc_version
    partition_bytes: int
    usable_bytes: int
    most_moving: dict[int, int] | None


KIB = 1024
_RESERVED = 16 * KIB + 8
"""Bytes of a partition that kernels leave free. Inferred: kernels subtract them."""
LIMITS = {
    "trn2": Limits(nc_version.gen3, 224 * KIB, 224 * KIB - _RESERVED, {4: 512, 2: 512}),
    "trn3": Limits(nc_version.gen4, 256 * KIB, 256 * KIB - _RESERVED, None),
}
"""Limits by platform target."""
TARGET = "NEURON_PLATFORM_TARGET_OVERRIDE"
"""The vendor's environment variable. Ref: "NKI simulator" guide."""
EXPONENTIALS = {each.name: each.numerics for each in (TRAINIUM3_EXPONENTIAL, TRAINIUM3_EXPONENTIAL_OF_DST)}
"""Numerics of VectorE's exponential by preset."""
ALIASES = {"gen3": "trn2", "gen4": "trn3"}
RELEASE: ContextVar[str | Release] = ContextVar("release", default=NEWEST)
"""The release of runs whose options name none."""


@dataclass(frozen=True)
class Options:
    """Options of a run: target, strictness and memory.

    Attributes
    ----------
    target : "trn3" or "trn2", whose limits hold; what the environment variable :data:`TARGET` says, or "trn3". The numerics
        are Trainium3's.
    release : a name in `RELEASES` or a record: parameters, limits and rules of NKI's instructions.
    strict : whether undefined behaviour, :data:`UNDEFINED`, is an error.
    accepted : its kinds of which a strict run only warns.
    new_memory : what memory without an address holds at first: "nan", and 4 in integers, or "zero", for kernels that
        multiply what nothing has written by 0.
    strict_memory : whether it is an error that tensors in use at one time do not fit; else a warning.
    scale_rule : rule of quantize_mx's scales; None for the release's.
    sum_order : order of sums along the free dimensions.
    exponential : preset of exponential's numerics, a name of `EXPONENTIALS`: what its row sum adds where dst is narrower than FP32.
    collectives : algorithm of the collectives that reduce, a member or its value: the order of their additions.
    cycles : rates of the instructions: "trainium3", "trainium2" or "trn2_doc", which is Trainium2 by the printed costs alone;
        those of the target by default.
    sub_version : revision of the silicon, which ``get_nc_sub_version`` returns.
    dma_start : cycles of 1.2 GHz from a DMA's trigger to its first byte; documented.
    """

    target: str = field(default_factory=lambda: os.environ.get(TARGET, "trn3"))
    strict: bool = False
    accepted: tuple[str, ...] = ()
    new_memory: str = "nan"
    strict_memory: bool = False
    scale_rule: ScaleRule | None = None
    sum_order: SumOrder = SumOrder.SERIAL
    exponential: str = TRAINIUM3_EXPONENTIAL.name
    collectives: CollectiveAlgorithm = CollectiveAlgorithm.MESH
    cycles: str = ""
    dma_start: int = TRAINIUM3_DMA.numerics.start_cycles
    sub_version: int = 0
    release: str | Release = field(default_factory=RELEASE.get)
    limits: Limits = field(init=False)
    own_release: Release = field(init=False, repr=False)

    def __post_init__(self) -> None:
        target = ALIASES.get(self.target, self.target)
        if target not in LIMITS:
            raise ValueError(f"target must be trn3 (gen4) or trn2 (gen3), not {self.target!r}")
        if self.new_memory not in ("nan", "zero"):
            raise ValueError(f"new_memory must be nan or zero, not {self.new_memory!r}")
        if not set(self.accepted) <= set(UNDEFINED):
            raise ValueError(f"accepted must be of {', '.join(UNDEFINED)}, not {self.accepted!r}")
        if self.cycles not in ("", *RATES):
            raise ValueError(f"cycles must be {', '.join(RATES)}, not {self.cycles!r}")
        check_choice("exponential", self.exponential, EXPONENTIALS)
        object.__setattr__(self, "collectives", member("collectives", self.collectives, CollectiveAlgorithm))
        object.__setattr__(self, "limits", LIMITS[target])
        object.__setattr__(self, "own_release", named_release(self.release))

    @property
    def rates(self) -> CoreRates:
        """Clocks and rates of the engines."""
        return RATES[self.cycles or ("trainium3" if self.limits.version is nc_version.gen4 else "trainium2")]


# Cores that run by turns: a core runs until it waits for others, so that every run is the same.


class Stopped(BaseException):
    """Another core has failed, and this one stops with it."""


Offer = tuple[tuple[int, ...], tuple]
"""Cores of a meeting, and what they meet for."""


class Turns:
    """Hands the turn from core to core at their meetings; core 0 begins.

    Parameters
    ----------
    names : of the cores, as errors say them.
    """

    def __init__(self, names: Sequence[str]):
        self.names = names
        self._turn = [threading.Semaphore(int(core == 0)) for core in range(len(names))]
        self._offers: dict[int, Offer] = {}
        self._given: dict[int, Any] = {}
        self._found: dict[int, tuple[int, Any]] = {}
        self._done: set[int] = set()
        self._meetings = 0
        self.failed = False

    def begin(self, core: int) -> None:
        """Wait for the first turn."""
        self._wait(core)

    def end(self, core: int) -> None:
        """Give the turn away for good."""
        self._done.add(core)
        others = [each for each in self._behind(core) if each not in self._done]
        ready = [each for each in others if self.failed or each not in self._offers]
        for each in (ready or others)[:1]:
            self._turn[each].release()

    def meet(
        self, core: int, cores: tuple[int, ...], what: tuple, given: Any, work: Callable[[dict[int, Any]], Any]
    ) -> tuple[int, Any]:
        """Wait until all cores meet for the same; return the meeting's number, from 1 on, and the work's result.

        The last core does the work, on what each has given, before any goes on.

        Raises NkiValidationError if no core can go on.
        """
        self._offers[core], self._given[core] = (cores, what), given
        if all(self._offers.get(each) == (cores, what) for each in cores):
            self._meetings += 1
            found = work({each: self._given.pop(each) for each in cores})
            for each in cores:
                del self._offers[each]
                self._found[each] = self._meetings, found
            ready = [min(cores)]
        else:
            ready = [each for each in self._behind(core) if each not in self._offers and each not in self._done]
        if ready and ready[0] != core:
            self._turn[ready[0]].release()
            self._wait(core)
        if core not in self._found:
            raise invalid(self._deadlock(core))
        return self._found.pop(core)

    def _behind(self, core: int) -> list[int]:
        """Return the other cores in the order of their turns."""
        count = len(self.names)
        return [(core + step) % count for step in range(1, count)]

    def _deadlock(self, core: int) -> str:
        """Return why a core waits in vain."""
        cores, what = self._offers[core]
        other = next(each for each in cores if self._offers.get(each) != (cores, what))
        waits = f"{what[0]}: {self.names[core]} waits in {_as_call(what)}"
        if other in self._done:
            return f"{waits}, and {self.names[other]} has ended"
        return f"{waits} while {self.names[other]} waits in {_as_call(self._offers[other][1])}"

    def _wait(self, core: int) -> None:
        self._turn[core].acquire()
        if self.failed:
            raise Stopped


def _as_call(what: tuple) -> str:
    name, *arguments = what
    return f"{name}({', '.join(map(str, arguments))})"


@dataclass(frozen=True)
class Tile:
    """A tensor of SBUF or PSUM without an address, as a core allocated it.

    Attributes
    ----------
    core, buffer : where it lies.
    storage : number of its storage.
    name, line : of the kernel.
    partition_bytes : bytes of a partition.
    """

    core: int
    buffer: str
    storage: int
    name: str
    line: str
    partition_bytes: int


UNWRITTEN_INTEGER = 4
"""What new automatic memory of integers and x4 words holds; memory of floats holds NaN."""


@dataclass(eq=False)
class Machine:
    """One or two cores that share HBM tensors: a rank of a launch.

    Attributes
    ----------
    options : of the run.
    size : cores.
    rank, ranks : number of this rank, and of all.
    instructions : all that have run, in their order.
    tiles : all tensors on chip without an address, in the order of their allocation.
    messages : warnings, each once, in their order.
    shared : shared HBM tensors by the number of the call that allocated them, which all cores do in one order.
    barriers : barriers so far.
    turns : hands the turn between the cores of all ranks; None for one.
    watch : gets each instruction with its values; None for nobody.
    """

    options: Options
    size: int
    rank: int = 0
    ranks: int = 1
    instructions: list[NkiInstruction] = field(default_factory=list)
    tiles: list[Tile] = field(default_factory=list)
    messages: dict[str, str] = field(default_factory=dict)
    shared: dict[int, NkiTensor] = field(default_factory=dict)
    barriers: int = 0
    turns: Turns | None = None
    watch: Callable[[Executed], None] | None = None

    def warn(self, kind: str, sentence: str, line: str = "", *, error: bool = False) -> None:
        """Keep a warning, once for each kind and line of the kernel, by default the present one; raise it in a strict run.

        With ``error`` raise it in any run.
        """
        line = line or kernel_line()
        if error or (self.options.strict and kind not in self.options.accepted):
            raise NkiValidationError(f"{sentence} ({line})")
        key = f"{kind} {line}"
        if key not in self.messages:
            self.messages[key] = f"{sentence} ({line})"
            warnings.warn(self.messages[key], NkiWarning, stacklevel=2)


class NeuronCore:
    """State of one core during a run.

    Attributes
    ----------
    machine, number : what it belongs to, and its number among the cores of all ranks.
    grid : whether the launch gave a grid, if only of one core.
    sbuf, psum : bytes.
    scalar_registers, vector_registers : accumulators of ScalarE and VectorE, float32 [128].
    defined : whether something has set each of them, by engine, bool [128].
    blocks : ``no_reorder`` blocks so far.
    ordered : number of the present ``no_reorder`` block, 0 outside.
    lists : "tensor" or "vector": whose lists of offsets the present instruction reads.
    """

    def __init__(self, machine: Machine, number: int = 0, *, grid: bool = False):
        self.machine, self.number, self.grid = machine, number, grid
        limits = machine.options.limits
        self.sbuf = Storage.empty("SBUF", PARTITIONS, limits.partition_bytes, owned=True)
        self.psum = Storage.empty("PSUM", PARTITIONS, PSUM_PARTITION_BYTES, owned=True)
        self.scalar_registers = np.zeros(PARTITIONS, np.float32)
        self.vector_registers = np.zeros(PARTITIONS, np.float32)
        self.defined = {engine: np.zeros(PARTITIONS, bool) for engine in ("scalar", "vector")}
        self.random: dict[str, Any] = {}
        self.ordered = self.blocks = 0
        self.lists: Literal["tensor", "vector"] = "vector"
        self._shared_calls = 0
        self._names = 0

    @property
    def options(self) -> Options:
        return self.machine.options

    @property
    def place(self) -> int:
        """Number of the core in its rank."""
        return self.number % self.machine.size

    def meet(
        self, cores: tuple[int, ...], what: tuple, given: Any, work: Callable[[dict[int, Any]], Any]
    ) -> tuple[int, Any]:
        """Wait for other cores, which meet for the same; return the meeting's number and the work's result."""
        assert self.machine.turns is not None
        return self.machine.turns.meet(self.number, cores, what, given, work)

    def allocate(
        self, shape: Sequence[int], dtype: Any, buffer: Any, name: str = "", address: tuple[int, int] | None = None
    ) -> NkiTensor:
        """Return a new tensor of any memory; ``address`` is (partition, byte) on chip."""
        own = dtype_name(dtype)
        shape = tuple(map(int, shape))
        region = MemoryRegion.sbuf if buffer is None else MemoryRegion(buffer)
        self._names += 1
        name = name or f"tensor_{self._names}"
        if not shape or any(num < 1 for num in shape):
            raise invalid(f"{name}: shape must have positive dimensions, not {shape}")
        if region in (MemoryRegion.sbuf, MemoryRegion.psum):
            return self._on_chip(shape, own, region.value, name, address)
        if address is not None:
            raise invalid(f"{name}: address must be None in HBM, not {address}")
        return self._hbm(shape, own, region, name)

    def _on_chip(
        self, shape: tuple[int, ...], dtype: str, buffer: str, name: str, address: tuple[int, int] | None
    ) -> NkiTensor:
        if len(shape) < 2 or shape[0] > PARTITIONS:
            raise invalid(f"{name}: shape must have 1 to {PARTITIONS} partitions and a free dimension, not {shape}")
        size, line = STORED[dtype].itemsize, kernel_line()
        length = prod(shape[1:]) * size
        most = self.options.limits.usable_bytes if buffer == "sbuf" else PSUM_PARTITION_BYTES
        if length > most:
            raise invalid(f"{name}: {length} bytes a partition do not fit into {buffer.upper()}, which has {most}")
        if address is None:
            storage, partition, byte = Storage.empty(f"{buffer.upper()} ({name})", shape[0], length), 0, 0
            storage.data[:] = np.tile(_filler(dtype, self.options.new_memory), length // size)
            self.machine.tiles.append(Tile(self.number, buffer, storage.number, name, line, length))
        else:
            storage, (partition, byte) = self.sbuf if buffer == "sbuf" else self.psum, map(int, address)
            self._check_address(storage, name, partition, byte, shape[0], length, size)
            storage.written[partition : partition + shape[0], byte : byte + length] = False
        made = Allocation(buffer, storage, partition, byte, shape[0], length, dtype, address is not None, name, line)
        return _fresh(made, dtype, shape)

    def _check_address(
        self, storage: Storage, name: str, partition: int, byte: int, partitions: int, length: int, size: int
    ) -> None:
        if not 0 <= partition <= PARTITIONS - partitions:
            raise invalid(f"{name}: partitions {partition} to {partition + partitions - 1} must be below {PARTITIONS}")
        if not 0 <= byte <= storage.row_bytes - length or byte % size:
            raise invalid(
                f"{name}: bytes {byte} to {byte + length - 1} must start at a multiple of {size} and lie below"
                f" {storage.row_bytes}"
            )
        if storage is self.psum and byte % PSUM_BANK_BYTES:
            raise invalid(f"{name}: a PSUM address must start a bank of {PSUM_BANK_BYTES} bytes, not {byte}")

    def _hbm(self, shape: tuple[int, ...], dtype: str, region: MemoryRegion, name: str) -> NkiTensor:
        is_shared = region is MemoryRegion.shared_hbm and self.machine.size > 1
        if is_shared:
            self._shared_calls += 1
            present = self.machine.shared.get(self._shared_calls)
            if present is not None:
                if (present.shape, present.dtype) != (shape, dtype):
                    raise invalid(
                        f"{name}: both cores must allocate the same shared tensor, not {shape} after {present.shape}"
                    )
                return present
        made = hbm_tensor(shape, dtype, region.value, name, kernel_line(), shared=is_shared)
        made.allocation.storage.data[:] = np.tile(_filler(dtype, self.options.new_memory), prod(shape))
        if is_shared:
            self.machine.shared[self._shared_calls] = made
        return made


def hbm_tensor(
    shape: Sequence[int], dtype: str, buffer: str, name: str, line: str = "", *, shared: bool = False
) -> NkiTensor:
    """Return an HBM tensor of unwritten bytes."""
    length = prod(shape) * STORED[dtype].itemsize
    storage = Storage.empty(f"HBM ({name})", 1, length, shared=shared)
    return _fresh(Allocation(buffer, storage, 0, 0, 1, length, dtype, False, name, line), dtype, shape)


def _fresh(allocation: Allocation, dtype: str, shape: Sequence[int]) -> NkiTensor:
    """Return the tensor of a whole allocation."""
    inner = tuple(int(prod(shape[k + 1 :])) for k in range(len(shape)))
    steps = (1, *inner[1:]) if allocation.on_chip else inner
    return NkiTensor(allocation, dtype, 0, 0, tuple(map(int, shape)), steps)


def _filler(dtype: str, new_memory: str) -> np.ndarray:
    """Return the bytes of an element of new memory: NaN where single elements have it, or 0."""
    stored = STORED[dtype]
    if new_memory == "zero":
        return np.zeros(stored.itemsize, np.uint8)
    if dtype == "float8_e8m0fnu":
        return np.full(stored.itemsize, 0xFF, np.uint8)
    value = np.array(np.nan if is_float(dtype) else UNWRITTEN_INTEGER).astype(stored)
    return np.frombuffer(value.tobytes(), np.uint8)


PRESENT: ContextVar[NeuronCore | None] = ContextVar("neuron_core", default=None)


def present_core() -> NeuronCore:
    """Return the core on which the present kernel runs.

    Raises NkiValidationError outside a kernel.
    """
    core = PRESENT.get()
    if core is None:
        raise invalid("no kernel is running: call a function with @nki.jit, or nki.run")
    return core
