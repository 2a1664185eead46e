"""Instructions on the joined `core`: a program each, with operands from HBM to SBUF by DMA, and its results back to HBM.

More partitions than the core has are taken one block after the other. What it has no instruction or no room for raises LeftOutError.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NoReturn

import numpy as np

from bitpath.golden.arrays.codec import format_of
from bitpath.golden.trainium3.declarations.quad_mx import QUADRANT, AccumulateFlag, ScaleRule
from bitpath.golden.trainium3.operands.cast import CAST_DTYPES
from bitpath.rtl.trainium3.core.config import CoreConfig
from bitpath.rtl.trainium3.core.instruction import Engine
from bitpath.rtl.trainium3.dma.read_add_write import WriteMode
from bitpath.rtl.trainium3.lanes.activation2_lane import Function, Operations, Reduction
from bitpath.rtl.trainium3.lanes.engine_lane import Operator
from bitpath.rtl.trainium3.tensor.core_pe import Mode
from bitpath.rtl.trainium3.tensor.element_decode import OperandFormat
from bitpath.verif.trainium3.core.programs.hosted import CoreProgram, LeftOutError, bits_copy, operand_at
from bitpath.verif.trainium3.core.programs.instructions import (
    SCALES,
    Activate,
    Copy,
    Descriptor,
    ExchangeStates,
    Exponential,
    Matmul,
    Operand,
    Operate,
    Quantize,
    Rand2,
    Reciprocal,
    Side,
    row_at,
)
from bitpath.verif.trainium3.core.stages import Play
from bitpath.verif.trainium3.dtype_words import DTYPE_NAMES

MOVED_BYTES = 1024
"""Bytes of a partition in a move, whose elements have no rows."""
MODES = {"bf16": OperandFormat.BF16, "fp16": OperandFormat.FP16}


@dataclass(frozen=True)
class JoinedCore:
    """The steps of `stages` on a core of one or more quadrants; arguments and results are those of the functions there.

    Attributes
    ----------
    play : simulates programs.
    config : the core.
    """

    play: Play
    config: CoreConfig

    def operate(self, x: np.ndarray, operator: str, y: np.ndarray, result: str, *, reverse: bool = False) -> np.ndarray:
        def made(program: CoreProgram, x: np.ndarray, y: np.ndarray) -> None:
            program.run(
                Operate, *x.shape, CAST_DTYPES[result], engine=Engine.VECTOR, x=program.operand(x),
                y=program.operand(y), op=Operator[operator.upper()], reverse=reverse,
            )  # fmt: skip

        return self._by_rows(made, x, y)[0]

    def copy(self, data: np.ndarray, dtype: np.dtype, *, engine: str) -> np.ndarray:
        own = Engine[engine.upper()]

        def cast(program: CoreProgram, data: np.ndarray) -> None:
            program.run(Operate, *data.shape, dtype, engine=own, x=program.operand(data))

        def same(program: CoreProgram, bits: np.ndarray) -> None:
            x = program.operand(bits)
            program.run(
                Operate, *bits.shape, bits.dtype, engine=own, x=x, op=Operator.BITWISE_OR, immediate_dtype=x.dtype
            )

        if dtype != data.dtype:
            return self._by_rows(cast, data)[0]
        return self._by_rows(same, np.ascontiguousarray(data).view(f"u{dtype.itemsize}"))[0].view(dtype)

    def activate(
        self,
        data: np.ndarray,
        function: str = "copy",
        reduction: str = "add",
        *,
        operations: str = "multiply_add",
        scale: float | np.ndarray = 1.0,
        bias: np.ndarray | None = None,
        start: np.ndarray | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        scales = np.unique(np.float32(scale))
        if start is not None or scales.size > 1:
            raise LeftOutError("the joined core's ScalarE has one scale, and reduces from a reset on")
        fields = {
            "operations": Operations[operations.upper()],
            "function": Function[function.upper()],
            "reduction": Reduction[reduction.upper()],
            "imm0": int(scales.view(np.uint32)[0]),
        }

        def made(program: CoreProgram, data: np.ndarray, bias: np.ndarray | None = None) -> None:
            own: dict[str, Any] = fields | {"x": program.operand(data)}
            if bias is not None:
                own["y"] = program.operand(bias)
            for count, register in ((data.shape[1], False), (1, True)):
                program.run(Activate, len(data), count, CAST_DTYPES["fp32"], register=register, **own)

        columns = [] if bias is None else [np.broadcast_to(np.float32(bias), (len(data), 1))]
        values, sums = self._by_rows(made, data, *columns)
        return values, sums

    def recur(self, unit: str, data: np.ndarray) -> np.ndarray:
        of = {"reciprocal": Reciprocal, "reciprocal_square_root": partial(Activate, root=True)}[unit]

        def made(program: CoreProgram, data: np.ndarray) -> None:
            program.run(of, *data.shape, data.dtype, x=program.operand(data))

        return self._by_rows(made, data)[0]

    def exponentiate(self, data: np.ndarray, largest: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        def made(program: CoreProgram, data: np.ndarray, largest: np.ndarray) -> None:
            x, y = program.operand(data), program.operand(largest)
            for count, register in ((data.shape[1], False), (1, True)):
                program.run(Exponential, len(data), count, CAST_DTYPES["fp32"], register=register, x=x, y=y)

        powers, sums = self._by_rows(made, data, largest)
        return powers, sums

    def rand2(self, states: np.ndarray, low: np.ndarray, high: np.ndarray, count: int, dtype: np.dtype) -> np.ndarray:
        def made(program: CoreProgram, states: np.ndarray, low: np.ndarray, high: np.ndarray) -> None:
            words = program.operand(states)
            place = operand_at(program.room(4 * states.shape[1]), states.shape[1], states.dtype)
            program.instructions.append(
                ExchangeStates(x=words, result=place, partitions=len(states), after=(Engine.DMA,))
            )
            program.run(Rand2, len(low), count, dtype, x=program.operand(low), y=program.operand(high))

        lows = np.repeat(np.ascontiguousarray(low), count, axis=1)
        return self._by_rows(made, states.reshape(len(states), -1), lows, high)[0]

    def quantise(self, tile: np.ndarray, dtype: np.dtype, rule: str) -> tuple[np.ndarray, np.ndarray]:
        if len(tile) % QUADRANT:
            raise LeftOutError("the joined core quantises whole quadrants")

        def made(program: CoreProgram, tile: np.ndarray) -> None:
            words = tile.shape[1] // 4
            scales = program.room(words)
            program.run(
                Quantize, len(tile), words, np.dtype(np.uint32), x=program.operand(tile), element=format_of(dtype),
                rule=ScaleRule(rule), scales=scales,
            )  # fmt: skip
            program.keep(scales, SCALES, words, np.dtype(np.uint8))

        words, scales = self._by_rows(made, tile, block=QUADRANT)
        return words, scales

    def multiply(
        self,
        dtype: tuple[np.dtype, np.dtype],
        stationary: np.ndarray,
        moving: np.ndarray,
        scales: Sequence[np.ndarray],
        tile: Mapping[str, int] | None = None,
        present: np.ndarray | None = None,
    ) -> list[np.ndarray]:
        def made(program: CoreProgram) -> Matmul:
            places = [program.load(each) for each in scales]
            return self._matmul(
                program, stationary, moving, mode=Mode.MX, scales=(places[0], places[1]),
                formats=tuple(OperandFormat[format_of(each).name] for each in dtype),
            )  # fmt: skip

        if len(stationary) != QUADRANT:
            raise LeftOutError(f"the joined core multiplies {QUADRANT} rows in MX")
        return self._products(made, stationary, moving, present)

    def matmul(
        self, stationary: np.ndarray, moving: np.ndarray, mode: str, present: np.ndarray | None = None
    ) -> list[np.ndarray]:
        if mode not in MODES:
            raise LeftOutError(f"the joined core is run on products of {' and '.join(MODES)}, not of {mode}")

        def made(program: CoreProgram) -> Matmul:
            return self._matmul(program, stationary, moving, formats=(MODES[mode],) * 2)

        return self._products(made, stationary, moving, present)

    def transpose(self, data: np.ndarray) -> np.ndarray:
        size, (rows, columns) = QUADRANT, data.shape

        def made(program: CoreProgram, block: np.ndarray) -> None:
            program.instructions.append(
                Matmul(
                    mode=Mode.PASS, rows=size, columns=size, stationary=program.load(block),
                    result=row_at(size, 0, 2), bf16=True, after=(Engine.DMA,),
                )
            )  # fmt: skip
            program.keep_bank(size, size, data.dtype)

        blocks = data.reshape(rows // size, size, columns // size, size).transpose(0, 2, 1, 3).reshape(-1, size)
        turned = self._by_rows(made, blocks, block=size)[0].reshape(rows // size, columns // size, size, size)
        return np.ascontiguousarray(turned.transpose(1, 2, 0, 3).reshape(columns, rows))

    def move(self, data: np.ndarray, dtype: np.dtype) -> np.ndarray:
        flat = np.ascontiguousarray(data).reshape(-1)
        if dtype == data.dtype:
            flat = flat.view(np.uint8)
        per_row = min(MOVED_BYTES // (4 if dtype != data.dtype else 1), -(-flat.size // 4) * 4)
        rows = np.pad(flat, (0, -flat.size % per_row)).reshape(-1, per_row)

        def copied(program: CoreProgram, rows: np.ndarray) -> None:
            program.keep(program.load(rows), *rows.shape, rows.dtype)

        def cast(program: CoreProgram, rows: np.ndarray) -> None:
            byte, place = program.write(rows), program.room(per_row * dtype.itemsize)
            names = DTYPE_NAMES[data.dtype], DTYPE_NAMES[dtype]
            program.instructions += [
                Descriptor(
                    source=(None, byte + p * row.nbytes), destination=(p, place), count=per_row, pair=names,
                    config=self.config,
                )
                for p, row in enumerate(rows)
            ]  # fmt: skip
            program.keep(place, *rows.shape, dtype)

        moved = self._by_rows(copied if dtype == data.dtype else cast, rows)[0]
        return moved.reshape(-1)[: flat.size].view(dtype)

    def add(self, present: np.ndarray, more: np.ndarray) -> np.ndarray:
        mode = {4: WriteMode.ADD_FP32, 2: WriteMode.ADD_BF16}[more.itemsize]
        per_row = min(MOVED_BYTES // more.itemsize, more.size)
        rows = [np.pad(each.reshape(-1), (0, -more.size % per_row)).reshape(-1, per_row) for each in (present, more)]

        def made(program: CoreProgram, present: np.ndarray, more: np.ndarray) -> None:
            place, byte, size = program.load(present), program.write(more), more.itemsize
            row = row_at(per_row, byte, size)
            program.instructions.append(
                Copy(
                    source=Side(row, None, per_row if len(more) > 1 else 0),
                    destination=Side(row_at(per_row, place, size), 0), partitions=len(more),
                    size=size.bit_length() - 1, mode=mode, after=(Engine.DMA,),
                )
            )  # fmt: skip
            program.keep(place, *more.shape, more.dtype)

        return self._by_rows(made, *rows)[0].reshape(-1)[: more.size].reshape(more.shape)

    def dma_transpose(self, data: np.ndarray) -> NoReturn:
        raise LeftOutError("the joined core has no DMA transpose")

    def _matmul(self, program: CoreProgram, stationary: np.ndarray, moving: np.ndarray, **fields: Any) -> Matmul:
        """Return the product in bank 0 of operands that are loaded for it."""
        count = moving.shape[1]
        first = program.load(stationary)
        place = program.load(moving)
        return Matmul(
            rows=len(stationary), columns=stationary.shape[1], stationary=first,
            moving=row_at(count, place, moving.itemsize), result=row_at(count, 0, 4), **fields,
        )  # fmt: skip

    def _products(
        self,
        made: Callable[[CoreProgram], Matmul],
        stationary: np.ndarray,
        moving: np.ndarray,
        present: np.ndarray | None,
    ) -> list[np.ndarray]:
        """Return the product, and its sum with FP32 numbers that PSUM holds before it, if any."""
        size, count = self.config.size, moving.shape[1]
        if max(stationary.shape) > size or 4 * count > self.config.bank_bytes:
            most = self.config.bank_bytes // 4
            raise LeftOutError(f"the joined core multiplies {size} by {size} by {most} elements at most")
        programs = []
        for before in (None,) if present is None else (None, present):
            program, flag = CoreProgram(self.config), AccumulateFlag.FIRST_OVERWRITE
            product = made(program)
            if before is not None:
                flag = AccumulateFlag.FIRST_ACCUMULATE
                x = Operand(row_at(count, program.load(before), 4), "uint32")
                result = Operand(row_at(count, 0, 4), "uint32", psum=True)
                program.instructions.append(bits_copy(x, result, len(before)))
            last = replace(product, flag=int(flag | AccumulateFlag.LAST), after=(Engine.DMA, Engine.VECTOR))
            program.instructions.append(last)
            program.keep_bank(stationary.shape[1], count, CAST_DTYPES["fp32"])
            programs.append(program)
        return [own for (own,) in self._played(programs)]

    def _by_rows(self, made: Callable[..., None], *arrays: np.ndarray, block: int | None = None) -> list[np.ndarray]:
        """Make a program for each block of rows, by default one row for each partition; return the results below each
        other."""
        programs = []
        step = block or self.config.size
        for first in range(0, len(arrays[0]), step):
            programs.append(CoreProgram(self.config))
            made(programs[-1], *(np.ascontiguousarray(each[first : first + step]) for each in arrays))
        return [np.vstack(own) for own in zip(*self._played(programs), strict=True)]

    def _played(self, programs: Sequence[CoreProgram]) -> list[list[np.ndarray]]:
        """Return the results of each program."""
        images = self.play("core", programs)["images"]
        return [[each.of(image) for each in own.results] for own, image in zip(programs, images, strict=True)]
