"""Programs of golden's core as instructions of the RTL core.

An instruction of golden becomes one or more of the core, in the order of the program; the host makes the values of semaphores
from their ``after``. Golden's compute is a function, so that its caller knows the instructions that have its results.
"""

from collections.abc import Callable, Sequence

from bitpath.golden.trainium3.core.program import Compute, Transfer
from bitpath.golden.trainium3.core.program import Instruction as GoldenInstruction
from bitpath.golden.trainium3.core.program import Operand as GoldenOperand
from bitpath.golden.trainium3.declarations.memory import PSUM_BANK_BYTES
from bitpath.golden.trainium3.memory.access_pattern import AccessPattern, HbmPattern
from bitpath.rtl.trainium3.core.config import CoreConfig
from bitpath.rtl.trainium3.dma.read_add_write import WriteMode
from bitpath.verif.trainium3.core.programs.instructions import (
    QUARTERS,
    Copy,
    Descriptor,
    Instruction,
    Operand,
    Pattern,
    Side,
)
from bitpath.verif.trainium3.dma.dma_mover import ADDS
from bitpath.verif.trainium3.dtype_words import DTYPE_NAMES

After = tuple[Instruction, ...]
Computes = Callable[[Compute, After], Sequence[Instruction]]
"""Returns the instructions of a Compute, of which those that read its operands wait for others."""


def lowered(program: Sequence[GoldenInstruction], config: CoreConfig, computes: Computes) -> list[Instruction]:
    """Return the core's instructions of a golden program."""
    made: dict[str, Sequence[Instruction]] = {}
    for each in program:
        after = tuple(own for name in each.after for own in made[name])
        if isinstance(each, Compute):
            made[each.name] = computes(each, after)
        else:
            made[each.name] = _descriptors(each, config, after) if each.casts else [_copy(each, after)]
    return [own for instructions in made.values() for own in instructions]


def operand(config: CoreConfig, own: GoldenOperand) -> Operand:
    """Return a golden operand in SBUF or PSUM as one of the core, whose banks are smaller."""
    pattern = _partitioned(own)
    size, offset = pattern.dtype.itemsize, pattern.offset
    if own.memory == "psum":
        bank, byte = place_in_bank(own)
        offset = (bank * config.bank_bytes + byte) // size
    return Operand(
        Pattern(pattern.pattern, offset), DTYPE_NAMES[pattern.dtype], psum=own.memory == "psum",
        start=pattern.start * QUARTERS // config.size,
    )  # fmt: skip


def place_in_bank(own: GoldenOperand) -> tuple[int, int]:
    """Return the PSUM bank of an operand, and its first byte there."""
    pattern = _partitioned(own)
    return divmod(pattern.offset * pattern.dtype.itemsize, PSUM_BANK_BYTES)


def first_byte(own: GoldenOperand) -> int:
    """Return the byte of a partition from which an operand's elements follow each other."""
    pattern = _partitioned(own)
    return pattern.offset * pattern.dtype.itemsize


def _partitioned(own: GoldenOperand) -> AccessPattern:
    if not isinstance(own.pattern, AccessPattern):
        raise TypeError(f"an operand must lie in SBUF or PSUM, not in {own.memory}")
    return own.pattern


def _copy(transfer: Transfer, after: After) -> Copy:
    sides, dtype = (transfer.source.pattern, transfer.destination.pattern), transfer.source.pattern.dtype
    (partitions,) = {each.partitions for each in sides if isinstance(each, AccessPattern)} or {None}
    source, destination = (_side(each, partitions) for each in sides)
    return Copy(
        source=source, destination=destination, partitions=partitions or 1, size=dtype.itemsize.bit_length() - 1,
        queue=transfer.queue, mode=ADDS[DTYPE_NAMES[dtype]] if transfer.add else WriteMode.STORE, after=after,
    )  # fmt: skip


def _side(pattern: AccessPattern | HbmPattern, partitions: int | None) -> Side:
    """Return a side of a copy; beside SBUF the first pair of HBM steps over the partitions."""
    if isinstance(pattern, AccessPattern):
        return Side(Pattern(pattern.pattern, pattern.offset), pattern.start)
    if partitions is None:
        return Side(Pattern(pattern.pattern, pattern.offset))
    step = pattern.pattern[0][0] if partitions > 1 else 0
    return Side(Pattern(pattern.pattern[1:], pattern.offset), partition_step=step)


def _descriptors(transfer: Transfer, config: CoreConfig, after: After) -> list[Descriptor]:
    """Return a descriptor for each partition of a cast from SBUF to rows of HBM."""
    source, destination = _partitioned(transfer.source), transfer.destination.pattern
    (step, _), (_, count) = destination.pattern
    names = DTYPE_NAMES[source.dtype], DTYPE_NAMES[destination.dtype]
    return [
        Descriptor(
            source=(source.start + p, first_byte(transfer.source)),
            destination=(None, (destination.offset + p * step) * destination.dtype.itemsize),
            count=count, pair=names, queue=transfer.queue, config=config, after=after,
        )
        for p in range(source.partitions)
    ]  # fmt: skip
