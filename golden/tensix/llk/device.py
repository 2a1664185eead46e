"""What executes a case: the chip as golden has it, or one that departs from it in one point."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bitpath.golden.tensix.declarations.formats import Format
from bitpath.golden.tensix.declarations.numerics import TensixNumerics
from bitpath.golden.tensix.llk.case import Case
from bitpath.golden.tensix.operands.fidelity import phases

Operands = Callable[[int, np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]
"""Returns the words of SrcB and SrcA that a fidelity phase reads, given its number and the unpacked ones."""


def as_unpacked(_: int, src_b: np.ndarray, src_a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the operands themselves: each phase cuts its own bits out of them."""
    return src_b, src_a


@dataclass(frozen=True, kw_only=True)
class Device:
    """A device; the defaults are the chip's behaviour.

    Attributes
    ----------
    unpacker, matrix, packer : numerics of each.
    phases : fidelity phases in their order.
    operands : words that a phase reads.
    rounds_stimuli : True if FP32 is rounded to BF16, ties to even, before it is unpacked.
    exchanged : True if the left operand takes the place of the right one.
    swapped_fields : True if SrcA is read by the 7-bit fields and SrcB by the 5-bit ones.
    raw : True if the packer copies to the intermediate format without rounding and flush.
    to_blocks : makes bytes of a block float out of BF16 or FP16 codes; None is the packer's way.
    other_order : True if the result's datums are in row-major order where they should be in tiles, and conversely.
    """

    unpacker: TensixNumerics
    matrix: TensixNumerics
    packer: TensixNumerics
    phases: tuple[int, ...]
    operands: Operands = as_unpacked
    rounds_stimuli: bool = False
    exchanged: bool = False
    swapped_fields: bool = False
    raw: bool = False
    to_blocks: Callable[[np.ndarray, Format], np.ndarray] | None = None
    other_order: bool = False


def chip_of(case: Case) -> Device:
    """Return the device that golden is."""
    numerics = case.numerics
    return Device(unpacker=numerics, matrix=numerics, packer=numerics, phases=phases(case.fidelity))
