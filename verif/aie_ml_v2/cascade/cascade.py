"""Matrix products whose K is split over the stages of a chain, with golden's results.

Golden runs all steps of K in order through one accumulator; the chain passes the same partial sums over its links.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random

import numpy as np

from bitpath.golden.aie_ml_v2 import MxBlocks, Program, matmul_program, run_program
from bitpath.golden.aie_ml_v2.matmul.matmul import FLOAT_FORMATS
from bitpath.rtl.aie_ml_v2.cascade.cascade import CASCADE_LANES, CascadeConfig, stage_beat
from bitpath.rtl.aie_ml_v2.engine.command import X_WORD, Y_WORD
from bitpath.rtl.aie_ml_v2.mac.config import MacControl, MacMode
from bitpath.rtl.aie_ml_v2.vector.config import beat_layout
from bitpath.verif.aie_ml_v2.engine.lowering import OperandWords, operand_words
from bitpath.verif.aie_ml_v2.mac.mac import chain_shown, lane_cases
from bitpath.verif.kit.mismatches import Shown
from bitpath.verif.kit.packing import array_bits, pack

FORMATS = ("mx9", "mx6", "mx4", *FLOAT_FORMATS, "int8", "int16")
"""Formats of a chain's operands, as `matmul` names them."""


@dataclass(frozen=True)
class Chained:
    """One matrix product of a chain.

    Attributes
    ----------
    fmt : format of both operands.
    stages : beats of each stage.
    before : partial sums that the first stage receives; empty if K starts there.
    words : results that the last stage sends.
    program : the product as golden runs it.
    """

    fmt: str
    stages: tuple[tuple[int, ...], ...]
    before: tuple[int, ...]
    words: tuple[int, ...]
    program: Program

    def shown(self, index: int, before: str, path: str) -> Shown:
        """Return the last step of K of the lane that differs in a word."""
        program, lane = self.program, int(path or 0)
        parts = program.mode.lanes // CASCADE_LANES
        tile, part = divmod(index, parts)
        row, column = divmod(tile, program.tiles[2])
        m, n = divmod(part * CASCADE_LANES + lane, program.tile.n)
        where = f"{before}tile [{row}, {column}], [{m}, {n}] of it, {self.fmt}"
        formats = (
            None if self.fmt.startswith("int") or isinstance(program.a, MxBlocks) else (FLOAT_FORMATS[self.fmt],) * 2
        )
        mode, operands = MacMode.of(program.mode), (program.a[row, :, m], program.b[:, column, n])
        cases = lane_cases(mode, *operands, formats=formats)
        return chain_shown(program.numerics, cases, {"output": where})


def chained(
    config: CascadeConfig, fmt: str, steps: int, source: Random, *, before: int = 0, tiles: tuple[int, int] = (1, 2)
) -> Chained:
    """Return a random product of ``tiles`` (rows, columns): ``steps`` steps of K in each stage after ``before`` external ones."""
    program = _random_program(config, fmt, before + config.stages * steps, tiles, source)
    operands = operand_words(program)
    register = source.randrange(config.mac.accumulators)
    cuts = [before + stage * steps for stage in range(config.stages + 1)]
    return Chained(
        fmt,
        tuple(tuple(_stage(config, operands, cuts[k], cuts[k + 1], register)) for k in range(config.stages)),
        _words(replace(program, a=program.a[:, :before], b=program.b[:before])) if before else (),
        _words(program),
        program,
    )


def _random_program(config: CascadeConfig, fmt: str, steps: int, tiles: tuple[int, int], source: Random) -> Program:
    """Return a program on floats of a few binades, or on integers of the whole range."""
    rng = np.random.default_rng(source.getrandbits(32))
    shape = matmul_program(*_numbers(rng, fmt, (1, 1, 1)), format=fmt, numerics=config.mac.numerics).tile
    m, n = (each * size for each, size in zip(tiles, (shape.m, shape.n), strict=True))
    return matmul_program(*_numbers(rng, fmt, (m, steps * shape.k, n)), format=fmt, numerics=config.mac.numerics)


def _numbers(rng: np.random.Generator, fmt: str, shape: tuple[int, int, int]) -> tuple[np.ndarray, np.ndarray]:
    m, k, n = shape
    if fmt.startswith("int"):
        top = 1 << int(fmt.removeprefix("int")) - 1
        return rng.integers(-top, top, (m, k)), rng.integers(-top, top, (k, n))
    a, b = (rng.standard_normal(each) * np.exp2(rng.integers(-3, 4, each)) for each in ((m, k), (k, n)))
    return a.astype(np.float32), b.astype(np.float32)


def _words(program: Program) -> tuple[int, ...]:
    """Return a program's results as cascade words, the parts of a tile in order."""
    lanes = run_program(program).reshape(-1, CASCADE_LANES)
    codes = lanes.astype(np.int32) if lanes.dtype == np.int64 else lanes.view(np.uint32)
    return tuple(array_bits(row) for row in codes)


def _stage(config: CascadeConfig, operands: OperandWords, start: int, stop: int, register: int) -> Iterator[int]:
    """Yield the beats of a stage for steps ``start`` to ``stop`` of K: tile by tile, step by step, part by part.

    Tiles use the registers in turn, from ``register`` on; received words go to the register half a round away.
    """
    layout, mac = stage_beat(config.mac), beat_layout(config.mac)
    registers = config.mac.accumulators
    parts = operands.mode.lanes // CASCADE_LANES
    rows, _, columns = operands.tiles
    for tile, (row, column) in enumerate(np.ndindex(rows, columns)):
        target = (register + tile) % registers
        received = (target + registers // 2) % registers
        for step in range(start, stop):
            first, last = step == start, step == stop - 1
            receives = first and start > 0
            control = pack(
                MacControl,
                {
                    "mode": MacMode.of(operands.mode).value,
                    "x_format": operands.element_format,
                    "y_format": operands.element_format,
                    "x_signed": 1,
                    "y_signed": 1,
                    "multiplies": 1,
                    "zero_acc1": int(first),
                    "use_acc2": int(receives),
                },
            )
            for part in range(parts):
                for beat in range(operands.beats):
                    bits = pack(
                        mac,
                        {
                            "control": control,
                            "acc1": target,
                            "acc2": received,
                            "dst": target,
                            "part": part,
                            **_operands("x", X_WORD, operands.x[row, step, beat]),
                            **_operands("y", Y_WORD, operands.y[step, column, beat]),
                        },
                    )
                    yield pack(
                        layout,
                        {
                            "beat": bits,
                            "receives": int(receives and beat == 0),
                            "sends": int(last and beat == operands.beats - 1),
                        },
                    )


def _operands(side: str, layout, word: np.ndarray) -> dict[str, int]:
    """Return a memory word as the fields of a beat."""
    bits = array_bits(word)
    names = {"tile": side, "exponents": f"{side}_exponents", "shifts": f"{side}_shifts"}
    return {name: bits >> layout[field].offset & (1 << layout[field].width) - 1 for field, name in names.items()}
