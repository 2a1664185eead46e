"""Native instructions: tiles, their beats, and golden's results for the lanes of a part."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random

from bitpath.golden.aie_ml_v2 import MacInstruction
from bitpath.golden.aie_ml_v2.declarations.modes import Shape
from bitpath.rtl.aie_ml_v2.mac.config import BYTE, LANE_BITS, MacMode
from bitpath.rtl.aie_ml_v2.vector.config import VectorMacConfig, beat_layout
from bitpath.verif.aie_ml_v2.mac.mac import (
    CONTROL,
    KINDS,
    LANE_MASK,
    MX_MODES,
    LaneCase,
    MacOptions,
    options,
    random_operands,
    row_of,
    stream_bits,
)
from bitpath.verif.kit.mismatches import Shown
from bitpath.verif.kit.packing import pack


@dataclass(frozen=True, kw_only=True)
class Instruction:
    """One native instruction for one part.

    Attributes
    ----------
    rows, columns : cases whose ``x`` are the rows of X and whose ``y`` are the columns of Y; the first row's case says how
        they are multiplied.
    part : the group of lanes.
    acc1, acc2 : registers read; None where left out.
    dst : the register written.
    options : the rest of the control word.
    """

    rows: tuple[LaneCase, ...]
    columns: tuple[LaneCase, ...]
    part: int
    acc1: int | None
    acc2: int | None
    dst: int
    options: MacOptions

    @property
    def mode(self) -> MacMode:
        return self.rows[0].mode

    @property
    def shape(self) -> Shape:
        return row_of(self.mode).shapes[0]

    def lane(self, lane: int, acc1: int | None = None, acc2: int | None = None) -> LaneCase:
        """Return the case of one lane of the tile with its accumulators."""
        row, column = divmod(lane, self.shape.n)
        x, y = self.rows[row], self.columns[column]
        return replace(self.rows[0], x=x.x, y=y.y, acc1=acc1, acc2=acc2, options=self.options)

    def result(self, config: VectorMacConfig, registers: dict[tuple[int, int], int]) -> int:
        """Return the new word of ``dst``, given the words of all (register, part)."""
        lanes = config.lanes
        words = [None if acc is None else registers[acc, self.part] for acc in (self.acc1, self.acc2)]
        out = 0
        for k in range(lanes):
            lane = self.part * lanes + k
            if lane < row_of(self.mode).lanes:
                codes = (None if word is None else word >> k * LANE_BITS & LANE_MASK for word in words)
                code = self.lane(lane, *codes).result(config.numerics)
            else:
                code = registers[self.dst, self.part] >> k * LANE_BITS & LANE_MASK
            out |= code << k * LANE_BITS
        return out

    def shown(self, config: VectorMacConfig, registers: dict[tuple[int, int], int], path: str) -> Shown:
        """Return the operands of the lane that differs, given the words of all (register, part) before."""
        lane = int(path or 0)
        names = {"place": f"register {self.dst}, lane {self.part * config.lanes + lane}"}
        names |= {name: f"register {value}" for name in ("acc1", "acc2") if (value := getattr(self, name)) is not None}
        where = {"instruction": ", ".join(f"{name} {text}" for name, text in names.items())}
        if self.part * config.lanes + lane >= row_of(self.mode).lanes:
            return Shown(operands=where | {"lane": "not one of this mode, whose register keeps it"})
        words = (None if acc is None else registers[acc, self.part] for acc in (self.acc1, self.acc2))
        codes = (None if word is None else word >> lane * LANE_BITS & LANE_MASK for word in words)
        found = self.lane(self.part * config.lanes + lane, *codes).shown(config.numerics)
        return replace(found, operands=where | dict(found.operands))

    def timed(self, config: VectorMacConfig) -> MacInstruction:
        """Return golden's instruction for the cycle model, in which each accumulator word is a register."""
        read = [acc for acc in (self.acc1, self.acc2) if acc is not None]
        place = config.parts * self.dst + self.part
        return MacInstruction(
            mode=self.mode.name.lower(),
            destination=place,
            accumulators=tuple(config.parts * acc + self.part for acc in read),
        )

    def beats(self, config: VectorMacConfig, junk: Random) -> Iterator[int]:
        """Return the payloads of ``beat_layout``; unused register indices are random."""
        layout = beat_layout(config)
        first = self.lane(0, *(None if acc is None else 0 for acc in (self.acc1, self.acc2)))
        acc1, acc2 = (junk.randrange(config.accumulators) if acc is None else acc for acc in (self.acc1, self.acc2))
        common = {
            "control": pack(CONTROL, first.control_fields()),
            "acc1": acc1,
            "acc2": acc2,
            "dst": self.dst,
            "part": self.part,
        }
        rows = [list(case.operand_fields()) for case in self.rows]
        columns = [list(case.operand_fields()) for case in self.columns]
        for beat in range(len(rows[0])):
            x, y = [each[beat] for each in rows], [each[beat] for each in columns]
            yield pack(layout, common | self._side("x", x) | self._side("y", y))

    def _side(self, side: str, parts: list[dict[str, int]]) -> dict[str, int]:
        """Concatenate rows or columns; Y of floats and integers is row-major."""
        shape, mode = self.shape, self.mode
        if mode in MX_MODES:
            width = {MacMode.MX6: 5 * 16, MacMode.MX9: 8 * 8}[mode]
            return {
                side: stream_bits([each[side] for each in parts], width),
                f"{side}_exponents": stream_bits([each[f"{side}_exponent"] for each in parts], BYTE),
                f"{side}_shifts": stream_bits([each[f"{side}_shift"] for each in parts], BYTE),
            }
        width = row_of(mode).a_bits or row_of(mode).formats[0].width
        if side == "x":
            return {side: stream_bits([each[side] for each in parts], shape.k * width)}
        mask = (1 << width) - 1
        elements = [each[side] >> k * width & mask for k in range(shape.k) for each in parts]
        return {side: stream_bits(elements, width)}


def random_instruction(
    config: VectorMacConfig, rng: Random, kind: object | None = None, part: int | None = None
) -> Instruction:
    """Return an instruction of any kind with distinct rows and columns."""
    numerics = config.numerics
    kind = rng.choice(KINDS) if kind is None else kind
    first = random_operands(numerics, rng, kind)
    shape, row = row_of(first.mode).shapes[0], row_of(first.mode)
    rows = (first, *(random_operands(numerics, rng, kind, first) for _ in range(shape.m - 1)))
    columns = tuple(random_operands(numerics, rng, kind, first) for _ in range(shape.n))
    parts = max(1, row.lanes // config.lanes)

    def register(absent: float) -> int | None:
        return None if rng.random() < absent else rng.randrange(config.accumulators)

    return Instruction(
        rows=rows,
        columns=columns,
        part=rng.randrange(parts) if part is None else part,
        acc1=register(0.2),
        acc2=register(0.5),
        dst=rng.randrange(config.accumulators),
        options=options(rng, integer=kind in (MacMode.INT8, MacMode.INT16)),
    )
