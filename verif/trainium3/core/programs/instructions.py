"""Instructions of a core: their words, and what golden makes of them on plain memories."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

import numpy as np

from bitpath.golden.arrays.codec import DTYPES
from bitpath.golden.formats.catalogue import BF16, E2M1, E3M4, E4M3, E4M3FN, E5M2, FP16, FP32, FloatFormat
from bitpath.golden.trainium3.declarations.quad_mx import QUADRANT
from bitpath.golden.trainium3.declarations.vector import TRAINIUM3_EXPONENTIAL
from bitpath.golden.trainium3.matmul.instruction import accumulates, psum_write
from bitpath.golden.trainium3.operands.layout import unpack_x4
from bitpath.rtl.trainium3.core.config import CoreConfig
from bitpath.rtl.trainium3.core.instruction import BODIES, Engine, instruction_layout
from bitpath.rtl.trainium3.tensor.core_pe import Mode
from bitpath.rtl.trainium3.tensor.element_decode import OperandFormat
from bitpath.verif.kit.packing import pack
from bitpath.verif.trainium3.array import core_products
from bitpath.verif.trainium3.array.core_products import Product
from bitpath.verif.trainium3.core.programs.memories import Memories, Pattern, load, store
from bitpath.verif.trainium3.dtype_words import codes_of

FORMATS: dict[OperandFormat, FloatFormat] = {
    OperandFormat[fmt.name]: fmt for fmt in (E4M3FN, E5M2, E2M1, E4M3, E3M4, FP16, BF16, FP32)
} | {OperandFormat.TF32: FP32}
EXPONENTIAL = TRAINIUM3_EXPONENTIAL.numerics
SCALES = 4
"""Scales of a quadrant."""


@dataclass(frozen=True, kw_only=True)
class Instruction:
    """An instruction and the engines that it waits for."""

    engine: Engine
    after: tuple[Engine, ...] = ()

    def word(self, config: CoreConfig, rng: Random) -> int:
        """Return the instruction as the program's port has it; fields that it does not use have any bits."""
        layout, body = BODIES[self.engine](config), dict(self.body())
        after = sum(1 << each.value for each in set(self.after))
        body |= {name: rng.getrandbits(field.width) for name, field in layout if name not in body}
        body = pack(layout, body)
        return pack(instruction_layout(config), {"body": body, "engine": self.engine, "after": after})

    def body(self) -> dict[str, Any]:
        """Return the fields that the instruction uses."""
        raise NotImplementedError

    def run(self, memories: Memories) -> None:
        """Do what the instruction says."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class Matmul(Instruction):
    """A product, or a transpose with mode PASS; ``mode`` decides what ``formats``, stationary and moving, may be."""

    engine: Engine = Engine.TENSOR
    mode: Mode = Mode.NARROW
    formats: tuple[OperandFormat, OperandFormat] = (OperandFormat.BF16, OperandFormat.BF16)
    rows: int
    columns: int
    start: int = 0
    stationary: int = 0
    moving: Pattern = field(default_factory=Pattern)
    scales: tuple[int, int] = (0, 0)
    scale_offset: int = 0
    pattern: str = "1:2"
    tags: int = 0
    result: Pattern = field(default_factory=Pattern)
    bank: int = 0
    flag: int = 3
    bf16: bool = False

    def body(self) -> dict[str, Any]:
        names = ["mode", "rows", "columns", "start", "stationary", "bank", "flag", "bf16"]
        own: dict[str, Any] = {"stationary_format": self.formats[0], "result": self.result.fields}
        if self.mode is not Mode.PASS:
            own |= {"moving_format": self.formats[1], "moving": self.moving.fields}
        if self.mode is Mode.MX:
            names.append("scale_offset")
            own |= {"stationary_scales": self.scales[0], "moving_scales": self.scales[1]}
        if self.mode is Mode.SPARSE:
            names.append("tags")
            kept, ratio = self.kept_and_ratio
            own["pattern"] = {"last_partition": kept - 1, "last_slot": ratio - 1}
        return own | {name: getattr(self, name) for name in names}

    @property
    def kept_and_ratio(self) -> tuple[int, int]:
        """Partitions of a group, and slots of a partition, of SPARSE."""
        kept, group = map(int, self.pattern.split(":"))
        return kept, group // kept

    def run(self, memories: Memories) -> None:
        config = memories.config
        first = self.start * config.size // 4
        rows = memories.sbuf[first : first + self.rows]
        size = self.size(0)
        stationary = load(rows, [self.stationary // size + m for m in range(self.columns)], size)
        moving = None if self.mode is Mode.PASS else load(rows, self.moving.elements, self.size(1))
        product = self._product(stationary, moving, memories, first)
        (incoming,) = product.prefix(self.rows)
        bank = memories.psum[: self.columns, self.bank * config.bank_bytes : (self.bank + 1) * config.bank_bytes]
        places, width = self.result.elements, 2 if self.bf16 else 4
        if self.mode is Mode.PASS:
            store(bank, places, width, incoming)
            return
        dtype = DTYPES[BF16 if self.bf16 else FP32]
        present = load(bank, places, width).astype(f"u{width}").view(dtype) if accumulates(self.flag) else None
        store(bank, places, width, codes_of(psum_write(np.ascontiguousarray(incoming), present, dtype)))

    def size(self, side: int) -> int:
        """Bytes of an element of an operand; of an x4 word in MX, of two elements in double row."""
        element = FORMATS[self.formats[side]].width
        return element * {Mode.MX: 4, Mode.DOUBLE_ROW: 2}.get(self.mode, 1) // 8

    def _product(self, x: np.ndarray, y: np.ndarray | None, memories: Memories, first: int) -> Product:
        if y is None:
            return core_products.transpose(x.astype(np.uint16))
        dtypes = [DTYPES[FORMATS[each]] for each in self.formats]
        if self.mode is Mode.MX:
            sides = [unpack_x4(each.astype(f"u{self.size(k)}"), dtypes[k]) for k, each in enumerate((x, y))]
            count = x.shape[1], y.shape[1]
            scales = [self._scales(memories, first, at, each) for at, each in zip(self.scales, count, strict=True)]
            sides = [each.reshape(self.rows, -1, 4) for each in sides]
            return core_products.quad_mx(*sides, *scales)
        if self.mode is Mode.DOUBLE_ROW:
            halves = [np.stack([each & 0xFF, each >> 8], axis=1).astype(np.uint8) for each in (x, y)]
            return core_products.double_row(*(each.view(dtypes[k]) for k, each in enumerate(halves)))
        sides = [each.astype(f"u{self.size(k)}").view(dtypes[k]) for k, each in enumerate((x, y))]
        if self.mode is Mode.SPARSE:
            return self._sparse(*sides, memories, first)
        make: Callable[..., Product] = core_products.matmul
        if self.mode is Mode.FUSED:
            make = core_products.fused
        elif self.formats[0] is OperandFormat.TF32:
            make = core_products.tf32
        return make(*sides)

    def _sparse(self, x: np.ndarray, y: np.ndarray, memories: Memories, first: int) -> Product:
        """Each stationary column times the moving elements that its tags name; a tag outside the pattern names +0."""
        kept, ratio = self.kept_and_ratio
        rows = np.arange(self.rows)[:, np.newaxis]
        words = load(
            memories.sbuf[first : first + self.rows], [self.tags // 2 + k for k in range(self.columns // 4)], 2
        )
        tags = np.stack([words >> 4 * k & 15 for k in range(4)], axis=2).reshape(self.rows, self.columns)
        partition, slot = tags >> 2, tags & 3
        legal = (partition < kept) & (slot < ratio)
        memories.illegal_tag |= not legal.all()
        moving = y.reshape(self.rows, -1, ratio)
        chosen = moving[rows // kept * kept + partition % kept, :, slot % ratio]
        chosen = np.where(legal[:, :, np.newaxis], chosen, y.dtype.type(0))
        make = core_products.tf32 if self.formats[0] is OperandFormat.TF32 else core_products.matmul
        columns = [make(x[:, m : m + 1], np.ascontiguousarray(chosen[:, m])) for m in range(self.columns)]

        def prefix(count: int) -> np.ndarray:
            return np.concatenate([each.prefix(count) for each in columns], axis=1)

        return replace(columns[0], prefix=prefix)

    def _scales(self, memories: Memories, first: int, byte: int, count: int) -> np.ndarray:
        """Scales [rows / 8, count], four rows of each quadrant."""
        rows = [first + quadrant * QUADRANT + SCALES * self.scale_offset for quadrant in range(self.rows // QUADRANT)]
        return np.vstack([memories.sbuf[row : row + SCALES, byte : byte + count] for row in rows])
