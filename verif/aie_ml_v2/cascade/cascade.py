"""Matrix products whose K is split over the stages of a chain, and what golden makes of them.

Golden runs all steps of K in order through one accumulator, which is what the chain does over its links.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random

import numpy as np

from bitpath.golden.aie_ml_v2 import Program, matmul_program, run_program
from bitpath.rtl.aie_ml_v2.cascade.cascade_stage import stage_beat
from bitpath.rtl.aie_ml_v2.cascade.config import CASCADE_LANES, CascadeConfig
from bitpath.rtl.aie_ml_v2.engine.command import X_WORD, Y_WORD
from bitpath.rtl.aie_ml_v2.mac.layouts import MacControl
from bitpath.rtl.aie_ml_v2.mac.mac_mode import MacMode
from bitpath.rtl.aie_ml_v2.vector.layouts import beat_layout
from bitpath.verif.aie_ml_v2.convert.bits import array_bits
from bitpath.verif.aie_ml_v2.engine.images import OperandWords, operand_words
from bitpath.verif.kit.packing import pack

FORMATS = ("mx9", "mx6", "mx4", "bf16", "fp16", "fp8_e4m3", "fp8_e5m2fnuz", "int8", "int16")
"""A chain's, as `matmul` names them."""


@dataclass(frozen=True)
class Chained:
    """One product of a chain.

    Attributes
    ----------
    fmt : of its operands.
    stages : beats of each stage.
    before : words that the first stage receives, none where K begins there.
    words : that the last stage sends.
    """

    fmt: str
    stages: tuple[tuple[int, ...], ...]
    before: tuple[int, ...]
    words: tuple[int, ...]


def chained(
    config: CascadeConfig, fmt: str, steps: int, source: Random, *, before: int = 0, tiles: tuple[int, int] = (1, 2)
) -> Chained:
    """A random product of so many tiles down and across; each stage does so many steps of K, a sum of ``before`` steps
    comes from outside."""
    program = _random_program(config, fmt, before + config.stages * steps, tiles, source)
    operands = operand_words(program)
    register = source.randrange(config.mac.accumulators)
    cuts = [before + stage * steps for stage in range(config.stages + 1)]
    return Chained(
        fmt,
        tuple(tuple(_stage(config, operands, cuts[k], cuts[k + 1], register)) for k in range(config.stages)),
        _words(replace(program, a=program.a[:, :before], b=program.b[:before])) if before else (),
        _words(program),
    )


def _random_program(config: CascadeConfig, fmt: str, steps: int, tiles: tuple[int, int], source: Random) -> Program:
    """Numbers of a few binades, or integers of the whole range."""
    rng = np.random.default_rng(source.getrandbits(32))
    shape = matmul_program(*_numbers(rng, fmt, (1, 1, 1)), fmt=fmt, numerics=config.mac.numerics).tile
    m, n = (each * size for each, size in zip(tiles, (shape.m, shape.n), strict=True))
    return matmul_program(*_numbers(rng, fmt, (m, steps * shape.k, n)), fmt=fmt, numerics=config.mac.numerics)


def _numbers(rng: np.random.Generator, fmt: str, shape: tuple[int, int, int]) -> tuple[np.ndarray, np.ndarray]:
    m, k, n = shape
    if fmt.startswith("int"):
        top = 1 << int(fmt.removeprefix("int")) - 1
        return rng.integers(-top, top, (m, k)), rng.integers(-top, top, (k, n))
    a, b = (rng.standard_normal(each) * np.exp2(rng.integers(-3, 4, each)) for each in ((m, k), (k, n)))
    return a.astype(np.float32), b.astype(np.float32)


def _words(program: Program) -> tuple[int, ...]:
    """A program's results as words of the cascade, the parts of a tile in order."""
    lanes = run_program(program).reshape(-1, CASCADE_LANES)
    codes = lanes.astype(np.int32) if lanes.dtype == np.int64 else lanes.view(np.uint32)
    return tuple(array_bits(row) for row in codes)


def _stage(config: CascadeConfig, operands: OperandWords, start: int, stop: int, register: int) -> Iterator[int]:
    """The beats of a stage that does these steps of K: tile by tile, step by step, part by part.

    Tiles take turns at all registers, from a given one on; what they receive goes where the tile half a round before was.
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
    """A memory word as the fields of a beat."""
    bits = array_bits(word)
    names = {"tile": side, "exponents": f"{side}_exponents", "shifts": f"{side}_shifts"}
    return {name: bits >> layout[field].offset & (1 << layout[field].width) - 1 for field, name in names.items()}
