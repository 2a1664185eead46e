"""Programs of a core that stand alone: operands from HBM to SBUF by DMA, instructions, and results back to HBM."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bitpath.rtl.trainium3.core.config import CoreConfig
from bitpath.rtl.trainium3.core.instruction import Engine
from bitpath.rtl.trainium3.lanes.engine_lane import Operator
from bitpath.verif.trainium3.core.programs.instructions import (
    Instruction,
    Operand,
    Operate,
    load_rows,
    row_at,
    store_rows,
)
from bitpath.verif.trainium3.dma.dma_queues import Schedule
from bitpath.verif.trainium3.dtype_words import DTYPE_NAMES


class LeftOutError(Exception):
    """No unit takes an instruction; its text says why."""


ALIGNMENT = 8
"""Bytes of which a partition's operands begin at multiples."""


@dataclass(frozen=True)
class Result:
    """Rows of elements that a program leaves at a byte of HBM."""

    byte: int
    shape: tuple[int, int]
    dtype: np.dtype

    def of(self, image: np.ndarray) -> np.ndarray:
        """Return the rows from HBM's bytes."""
        size = self.shape[0] * self.shape[1] * self.dtype.itemsize
        return image[self.byte : self.byte + size].view(self.dtype).reshape(self.shape)


class CoreProgram:
    """HBM before the program, its instructions, and where its results are behind it; with ``schedule`` the queues and classes
    of DMA, which stay until a later program has others."""

    def __init__(self, config: CoreConfig):
        self.config = config
        self.hbm = np.zeros(config.hbm_bytes, np.uint8)
        self.instructions: list[Instruction] = []
        self.results: list[Result] = []
        self.schedule: Schedule | None = None
        self.hbm_used = self.hbm_loaded = 0
        self._sbuf_used = 0

    def room(self, size: int) -> int:
        """Reserve `size` bytes of each partition; return the first one."""
        byte = self._sbuf_used
        self._sbuf_used += -(-size // ALIGNMENT) * ALIGNMENT
        if self._sbuf_used > self.config.partition_bytes:
            raise LeftOutError(f"the joined core has {self.config.partition_bytes} bytes in a partition")
        return byte

    def in_hbm(self, size: int) -> int:
        """Reserve `size` bytes of HBM; return the first one."""
        byte, word = self.hbm_used, self.config.mover.beat_bytes
        self.hbm_used += -(-size // word) * word
        if self.hbm_used > self.config.hbm_bytes:
            raise LeftOutError(f"the joined core has {self.config.hbm_bytes} bytes of HBM")
        return byte

    def write(self, data: np.ndarray) -> int:
        """Put elements into HBM; return their first byte."""
        raw = np.ascontiguousarray(data).view(np.uint8).reshape(-1)
        byte = self.in_hbm(raw.size)
        self.hbm[byte : byte + raw.size] = raw
        self.hbm_loaded = self.hbm_used
        return byte

    def load(self, data: np.ndarray) -> int:
        """Copy rows of elements to the first partitions; return their byte in each."""
        size = data.nbytes // len(data)
        byte, place = self.write(data), self.room(size)
        count, log = self._words(size)
        self.instructions.append(load_rows(byte, place, len(data), count, log))
        return place

    def keep(self, place: int, rows: int, count: int, dtype: np.dtype) -> None:
        """Make elements at a byte of the first partitions a result."""
        self.results.append(Result(self.in_hbm(rows * count * dtype.itemsize), (rows, count), dtype))
        words, log = self._words(count * dtype.itemsize)
        self.instructions.append(store_rows(self.results[-1].byte, place, rows, words, log))

    def operand(self, data: np.ndarray) -> Operand:
        """Return rows of elements as an operand of VectorE or ScalarE."""
        return operand_at(self.load(data), data.shape[1], data.dtype)

    def run(self, of: Callable[..., Instruction], rows: int, count: int, dtype: np.dtype, **fields: Any) -> None:
        """Add an instruction of VectorE or ScalarE behind DMA, and keep its result."""
        place = self.room(count * dtype.itemsize)
        result = operand_at(place, count, dtype)
        self.instructions.append(of(result=result, partitions=rows, after=(Engine.DMA,), **fields))
        self.keep(place, rows, count, dtype)

    def keep_bank(self, rows: int, count: int, dtype: np.dtype) -> None:
        """Make the first elements of PSUM's bank 0 a result."""
        size = dtype.itemsize
        place = self.room(count * size)
        bank, own = (row_at(count, byte, size) for byte in (0, place))
        name = f"uint{8 * size}"
        self.instructions.append(bits_copy(Operand(bank, name, psum=True), Operand(own, name), rows))
        self.keep(place, rows, count, dtype)

    def _words(self, size: int) -> tuple[int, int]:
        """Return a row's bytes as a count of words, and the logarithm of a word's bytes."""
        log = next(each for each in (2, 1, 0) if size % (1 << each) == 0)
        if size >> log >= 1 << self.config.num_bits:
            raise LeftOutError(
                f"a row has more elements than the joined core counts, {(1 << self.config.num_bits) - 1}"
            )
        return size >> log, log


def operand_at(byte: int, count: int, dtype: np.dtype) -> Operand:
    """Return elements that follow each other from a byte of SBUF's partitions on."""
    return Operand(row_at(count, byte, dtype.itemsize), DTYPE_NAMES[dtype])


def bits_copy(x: Operand, result: Operand, rows: int) -> Operate:
    """Return the copy of bits that waits for DMA and TensorE; a cast would pass FP32."""
    return Operate(
        engine=Engine.VECTOR, x=x, result=result, partitions=rows, op=Operator.BITWISE_OR, immediate_dtype=x.dtype,
        after=(Engine.DMA, Engine.TENSOR),
    )  # fmt: skip
