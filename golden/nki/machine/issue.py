"""One instruction on its way: reads and checks its operands, writes its results, and is recorded."""

import inspect
from collections.abc import Callable, Sequence
from enum import EnumMeta
from functools import wraps
from math import ceil, prod
from typing import Any

import numpy as np

from bitpath.golden import trainium3
from bitpath.golden.nki.declarations.errors import NkiValidationError, invalid, kernel_line
from bitpath.golden.nki.declarations.releases import Release
from bitpath.golden.nki.machine import access
from bitpath.golden.nki.machine.core import NeuronCore, nc_version, present_core
from bitpath.golden.nki.machine.release import as_parameters
from bitpath.golden.nki.machine.timeline import CLOCK_MHZ, LEAST_DYNAMIC, Executed, NkiInstruction
from bitpath.golden.nki.memory.dtypes import STORED, X4, is_float
from bitpath.golden.nki.memory.storage import Access
from bitpath.golden.nki.memory.tensor import Columns, Indirect, NkiTensor, merged
from bitpath.golden.trainium3.declarations.memory import PARTITION_STARTS
from bitpath.golden.trainium3.declarations.quad_mx import PARTITIONS, QUADRANT
from bitpath.golden.trainium3.declarations.rates import CoreRates
from bitpath.golden.trainium3.dma.schedule import QueueConfig
from bitpath.golden.trainium3.vector.rates import lane_width

# Views that share bytes at a shift: an instruction may overwrite elements that it still has to read.
#
# Views whose elements follow each other in the same places overlap element by element, which is in place and harmless. The lanes
# of an engine work in step, so that for them only the elements within a partition count: a broadcast of one partition over
# others, itself among them, is in place too. Inferred: the vendor's kernels do it.


def overlap_at_a_shift(core: NeuronCore, dst: NkiTensor, src: NkiTensor, *, lanes: bool) -> bool:
    """Return whether two views share a byte, unless they have the same elements in the same order.

    With ``lanes`` the elements of a partition decide; without, the partitions must be the same too. Views in HBM with indices are not examined.
    """
    if dst is src or any(each.is_indirect() and not each.on_chip for each in (dst, src)):
        return False
    if not dst.box().meets(src.box()):
        return False
    if not dst.is_indirect() and not src.is_indirect() and dst.order(lanes=lanes) == src.order(lanes=lanes):
        return False
    sources = access.pieces(core, src)
    return any(one.shares_bytes(other) for one in access.pieces(core, dst) for other in sources)


CHIP = ("sbuf", "psum")
SBUF = ("sbuf",)
PSUM = ("psum",)
ANY = ("sbuf", "psum", "private_hbm", "shared_hbm")
MOST_FREE_DIMS = 4
"""Free dimensions of an operand, counted after those that continue each other are merged. Ref: ARCH1."""


class Issue:
    """An instruction while it runs.

    Attributes
    ----------
    core : where it runs.
    opcode : its name.
    cycles, engine : to be set by the instruction.
    meeting : number of the meeting of both cores that it is part of; 0 for none.
    queue : of a DMA.
    """

    def __init__(self, core: NeuronCore, opcode: str, name: str):
        self.core, self.opcode, self.name = core, opcode, name
        self.queue = QueueConfig()
        self.engine, self.cycles, self.meeting, self._least = "sync", 1, 0, 1
        core.lists = "tensor" if opcode.startswith("nc_matmul") else "vector"
        self._more: dict[str, Any] = {}
        self._ordered = {f"block {core.ordered}"} if core.ordered else set()
        self._sources: list[NkiTensor] = []
        self._reads: list[Access] = []
        self._writes: list[Access] = []
        self._keys: set[str] = set()
        self._operands: dict[str, str] = {}
        self._values: dict[str, np.ndarray] = {}
        self._results: dict[str, np.ndarray] = {}

    @property
    def rates(self) -> CoreRates:
        return self.core.options.rates

    @property
    def release(self) -> Release:
        return self.core.options.own_release

    def fail(self, sentence: str) -> NkiValidationError:
        """Return the error of a broken rule."""
        return invalid(f"{self.opcode} {sentence}")

    def uses(self, *keys: str) -> None:
        """Say which choices the result depends on."""
        self._keys.update(keys)

    def keeps_order(self, *names: str) -> None:
        """Say that the instruction shares registers or generators with others of its engine."""
        self._ordered.update(names)

    def on(self, engine: str, cycles: int, **more: Any) -> None:
        """Set the engine, the cycles, and other fields of the record."""
        self.engine, self.cycles, self._more = engine, int(cycles), more

    def transfer(self, loads: dict[int, int], *, share: float = 1.0, factor: int = 1) -> None:
        """Set the cycles of a DMA: the bytes of each DMA engine, at a share of its rate, ``factor`` times."""
        rate = share * self.rates.dma_achieved_gb_per_s * 1000 / CLOCK_MHZ
        shares = {engine: factor * ceil(size / rate) for engine, size in loads.items()}
        self.on("dma", max(shares.values(), default=0), shares=shares, wait=self.core.options.dma_start)

    def meet(self, what: tuple, given: Any) -> Any:
        """Wait for the other core of the rank, which meets for the same; return its value."""
        first = self.core.number - self.core.place
        found = self.join((first, first + 1), what, given, dict)
        return found[2 * first + 1 - self.core.number]

    def join(self, cores: tuple[int, ...], what: tuple, given: Any, work: Callable[[dict[int, Any]], Any]) -> Any:
        """Wait for other cores, which meet for the same; return the result of the work that the last one does."""
        self.meeting, found = self.core.meet(cores, what, given, work)
        return found

    def elementwise(self, engine: str, *tensors: Any, factor: int = 1, extra: int = 0, halved: bool = False) -> None:
        """Set engine and cycles of an instruction on tiles: max(64, factor * N / w) + extra, with half of N if halved."""
        views = [each for each in tensors if isinstance(each, NkiTensor)]
        n = -(-free_size(*views) // (2 if halved else 1))
        self.on(engine, max(self.rates.interval, -(-factor * n // self._width(engine, views))) + extra)

    def _width(self, engine: str, views: Sequence[NkiTensor]) -> int:
        """Return w, the elements of a lane and cycle: 1 with columns by index; a stride above 16 bytes halves it."""
        rates = self.rates
        if any(isinstance(each.indices, Columns) for each in views):
            return 1
        strides = [each.itemsize * abs(_innermost(each)) for each in views]
        op = {"nc_transpose": "transpose"}.get(self.opcode, self.opcode)
        width = lane_width(
            rates,
            engine,
            op,
            narrow=all(is_float(each.dtype) and each.itemsize in rates.narrow_bytes for each in views),
            fast=all(each.allocation.buffer == "sbuf" and _innermost(each) == 1 for each in views),
        )
        return max(1, width // 2) if engine != "gpsimd" and max(strides) > rates.stride_bytes else width

    def check(
        self,
        name: str,
        tensor: Any,
        memories: Sequence[str] = CHIP,
        dtypes: Sequence[str] | None = None,
        *,
        starts: bool = True,
    ) -> NkiTensor:
        """Return an operand that lies where the instruction can reach it.

        Raises NkiValidationError unless it is a tensor of one of the memories and dtypes, on chip in 1 to 128 partitions that
        start where so many may.
        """
        if not isinstance(tensor, NkiTensor):
            raise self.fail(f"{name}: must be a tensor, not {type(tensor).__name__}")
        tensor.check()
        self._operands[name] = repr(tensor)
        if tensor.allocation.buffer not in memories:
            raise self.fail(f"{name}: must be in {' or '.join(memories)}, not in {tensor.allocation.buffer}")
        if dtypes is not None and tensor.dtype not in dtypes:
            raise self.fail(f"{name}: dtype must be {', '.join(dtypes)}, not {tensor.dtype}")
        if tensor.indices is not None and starts:
            self._check_indices(name, tensor.indices)
        if tensor.on_chip and starts:
            self._check_partitions(name, tensor)
        return tensor

    def needs_gen4(self, what: str = "") -> None:
        """Raise on a machine of an older generation."""
        version = self.core.options.limits.version
        if version < nc_version.gen4:
            raise self.fail(f"{what} needs gen4, not {version.name}".strip())

    def check_direct(self, name: str, tensor: NkiTensor) -> None:
        """Raise if an operand has indices that are read at run time."""
        if tensor.is_indirect():
            raise self.fail(f"{name}: must not have indices that are read at run time")

    def _check_indices(self, name: str, indices: Indirect | Columns) -> None:
        if isinstance(indices, Columns):
            if not self.release.has_columns:
                raise self.fail(f"{name}: must have no columns by index in release {self.release.sdk}")
            first = indices.index.partition
            if first % QUADRANT:
                raise self.fail(f"{name}: its index must start at a multiple of {QUADRANT} partitions, not at {first}")
            self.uses("indirect.lists")
        elif indices.vector:
            raise self.fail(f"{name}: an index for each partition needs a DMA")
        else:
            self._least = LEAST_DYNAMIC

    def _check_partitions(self, name: str, tensor: NkiTensor) -> None:
        count, first = tensor.shape[0], tensor.partition
        if count > PARTITIONS or (count > 1 and tensor.steps[0] != 1):
            raise self.fail(f"{name}: must have 1 to {PARTITIONS} partitions that follow each other")
        allowed = next(starts for most, starts in PARTITION_STARTS.items() if count <= most)
        if first not in allowed:
            raise self.fail(f"{name}: {count} partitions must start at {', '.join(map(str, allowed))}, not at {first}")
        if len(merged(tensor.dims)) > MOST_FREE_DIMS:
            raise self.fail(f"{name}: must have at most {MOST_FREE_DIMS} free dimensions, not shape {tensor.shape}")

    def tile(
        self,
        name: str,
        tensor: Any,
        memories: Sequence[str] = CHIP,
        dtypes: Sequence[str] | None = None,
        *,
        starts: bool = True,
        moves: bool = False,
    ) -> np.ndarray:
        """Return the elements of an operand, [P, N] as they lie in memory; TF32 is read as float32.

        With ``moves`` the instruction only moves them, so that nobody is warned of bytes that nothing has written.
        """
        view = self.check(name, tensor, memories, dtypes, starts=starts)
        if view.dtype in X4 and dtypes is None:
            raise self.fail(f"{name}: must have single elements, not {view.dtype}")
        self.reads(view)
        values = self._values[name] = access.load(self.core, view, moves=moves).reshape(view.shape[0], -1)
        return trainium3.cast(values, np.float32, source="tf32") if view.dtype == "tfloat32" else values

    def scalar(self, name: str, operand: Any, partitions: int, dtypes: Sequence[str] | None = None) -> Any:
        """Return a number as it is, or a tensor of one element for each partition as an array [P, 1]."""
        if not isinstance(operand, NkiTensor):
            self._operands[name] = repr(operand)
            return operand
        values = self.tile(name, operand, dtypes=dtypes)
        self._sources.pop()  # read before anything is written
        if values.shape != (partitions, 1):
            raise self.fail(f"{name}: must have shape {(partitions, 1)}, not {operand.shape}")
        return values

    def reads(self, tensor: NkiTensor, *others: Access) -> None:
        """Record that the instruction reads a tensor, and places of the other core."""
        self._sources.append(tensor)
        self._reads += [*tensor.boxes(), *others]

    def put(self, name: str, dst: NkiTensor, values: np.ndarray) -> None:
        """Write [P, N] values of the destination's dtype in memory."""
        if values.size != dst.size or values.shape[0] != dst.shape[0]:
            raise self.fail(
                f"{name}: must have {values.shape[0]} partitions of {values.size // len(values)} elements, not shape {dst.shape}"
            )
        access.store(self.core, dst, values)
        self._results[name] = values
        self.writes(dst)

    @property
    def watched(self) -> bool:
        """True if anybody watches the values of instructions."""
        return self.core.machine.watch is not None

    def show(self, name: str, values: np.ndarray, *, result: bool = False) -> None:
        """Show values of an operand, or of a result, that lie in memory in a way of their own."""
        (self._results if result else self._values)[name] = values

    def writes(self, tensor: NkiTensor) -> None:
        """Record that the instruction writes a tensor; warn if it overlaps, at a shift, a view that was read."""
        lanes = not self.opcode.startswith(("dma_", "sendrecv"))
        for each in self._sources:
            if overlap_at_a_shift(self.core, tensor, each, lanes=lanes):
                sentence = f"{self.opcode}: writes {tensor.name} over bytes of {each.name} that it reads, at a shift"
                self.core.machine.warn("overlap", f"{sentence}; the hardware's order is undefined")
        written, *indices = tensor.boxes()
        self._writes.append(written)
        self._reads += indices

    def move(self, dst: NkiTensor, src: NkiTensor) -> None:
        """Copy bits and their states; show the values to the watchers."""
        if self.watched:
            self.show("src", access.present(self.core, src).reshape(src.shape[0], -1))
        access.move(self.core, dst, src)
        if self.watched:
            self.show("dst", access.present(self.core, dst).reshape(dst.shape[0], -1), result=True)
        self.reads(src)
        self.writes(dst)

    def result(self, dst: NkiTensor) -> Any:
        """Return the dtype by which golden writes a destination's elements."""
        if dst.dtype in X4:
            raise self.fail(f"dst: must have single elements, not {dst.dtype}")
        return "tf32" if dst.dtype == "tfloat32" else STORED[dst.dtype]

    def rows(self, tensor: NkiTensor) -> slice:
        """Return the partitions of a tile, by which registers and generators are numbered."""
        return slice(tensor.partition, tensor.partition + tensor.shape[0])

    def registers(self, engine: str, tensor: NkiTensor, *, used: bool = True) -> np.ndarray:
        """Return a copy of the accumulators of ScalarE or VectorE for a tile's partitions, [P].

        Warn if they are ``used`` and undefined: nothing has set them, or, on VectorE, an instruction has left them idle since.
        Ref: ``nki.isa.select_reduce``, NKI 0.6: "Always use reset_reduce after any operations that ran with idle mode".
        """
        own = self.core.scalar_registers if engine == "scalar" else self.core.vector_registers
        if used and not self.core.defined[engine][self.rows(tensor)].all():
            self.core.machine.warn(
                "accumulator",
                f"{self.opcode}: accumulators are read that nothing has set since the start or an idle reduce_cmd",
            )
        return own[self.rows(tensor)].copy()

    def accumulated(
        self, engine: str, tensor: NkiTensor, after: np.ndarray | None, reduce_res: Any, shown: Any = None
    ) -> None:
        """Keep accumulators, and write them, or ``shown`` in their place, to the tile [P, 1] that asks for them.

        None means an instruction that does not use them: VectorE's are undefined behind it, here NaN.
        """
        own = self.core.scalar_registers if engine == "scalar" else self.core.vector_registers
        present = own[self.rows(tensor)]
        kept = engine == "scalar" if after is None else np.array_equal(present, after.reshape(-1), equal_nan=True)
        if not kept or reduce_res is not None:
            self.keeps_order("registers")
        if after is not None:
            own[self.rows(tensor)] = after.reshape(-1)
            self.core.defined[engine][self.rows(tensor)] = True
        elif engine == "vector":
            own[self.rows(tensor)] = np.nan
            self.core.defined[engine][self.rows(tensor)] = False
        if reduce_res is not None:
            view = self.check("reduce_res", reduce_res)
            values = self.registers(engine, tensor) if shown is None else shown
            self._sources.clear()  # a second instruction reads the registers
            self.put("reduce_res", view, trainium3.cast(np.ascontiguousarray(values).reshape(-1, 1), self.result(view)))

    def not_both_psum(self, **operands: Any) -> None:
        """Raise if more than one of the operands lies in PSUM."""
        there = [
            name for name, each in operands.items() if isinstance(each, NkiTensor) and each.allocation.buffer == "psum"
        ]
        if len(there) > 1:
            raise self.fail(f"{' and '.join(there)}: must not both be in PSUM")

    def finish(self, arguments: Callable[[], dict[str, Any]]) -> NkiInstruction:
        """Record the instruction, and show it to whoever watches; `arguments` returns the kernel's arguments."""
        made = NkiInstruction(
            opcode=self.opcode,
            engine=self.engine,
            core=self.core.number,
            cycles=max(self.cycles, self._least),
            line=kernel_line(),
            name=self.name,
            operands=self._operands,
            keys=frozenset(self._keys),
            reads=tuple(self._reads),
            writes=tuple(self._writes),
            meeting=self.meeting,
            queue=self.queue,
            ordered=frozenset(self._ordered),
            **self._more,
        )
        machine = self.core.machine
        machine.instructions.append(made)
        if machine.watch is not None:
            machine.watch(Executed(made, arguments(), self._values, self._results))
        return made


def free_size(*tensors: Any) -> int:
    """Return N: the elements of a partition in the largest operand."""
    return max(prod(each.shape[1:]) for each in tensors if isinstance(each, NkiTensor))


def _innermost(tensor: NkiTensor) -> int:
    """Return the innermost stride in elements; 1 where a partition has one element."""
    dims = merged(tensor.dims)
    return dims[-1][1] if dims else 1


def instruction(function: Callable[..., None]) -> Callable[..., NkiInstruction]:
    """Make an instruction of a function whose first parameter is its `Issue`; it takes ``name`` too, and returns its record.

    The release of the run decides the parameters. A mode is a member or its value, as kernels give it; None is its default. Errors of
    golden become NkiValidationError with the kernel's line.
    """
    opcode = function.__name__

    @wraps(function)
    def run(*args: Any, name: str | None = None, **kwargs: Any) -> NkiInstruction:
        issue = Issue(present_core(), opcode, name or "")
        try:
            given = as_parameters(issue.release, opcode, names, keywords, args, kwargs)
            given = {key: each for key, each in given.items() if not (each is None and key in modes)}
            for key in modes.keys() & given:
                try:
                    given[key] = modes[key](given[key])
                except ValueError:
                    sentence = f"must be a member of nki.isa.{modes[key].__name__}, not {given[key]!r}"
                    raise issue.fail(f"{key}: {sentence}") from None
            function(issue, **given)
        except NkiValidationError:
            raise
        except NotImplementedError:
            raise
        except (TypeError, ValueError) as error:
            raise invalid(f"{opcode} {str(error).removeprefix(f'{opcode}() ')}") from error
        return issue.finish(lambda: own.bind(issue, **given).arguments)

    own = inspect.signature(function)
    _, *parameters = own.parameters.values()
    keywords = [each.name for each in parameters if each.kind is each.KEYWORD_ONLY]
    names = [each.name for each in parameters if each.name not in keywords]
    modes = {each.name: each.annotation for each in parameters if isinstance(each.annotation, EnumMeta)}
    shown = [
        *parameters,
        inspect.Parameter("name", inspect.Parameter.KEYWORD_ONLY, default=None),
    ]
    run.__signature__ = own.replace(parameters=shown)  # type: ignore[attr-defined]
    return run
