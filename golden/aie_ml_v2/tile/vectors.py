"""The tile's operations on vectors: multiply-accumulates and shuffles."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bitpath.golden.aie_ml_v2.declarations.codes import MX9, SPARSE_GROUP, SPARSE_KEPT
from bitpath.golden.aie_ml_v2.declarations.modes import (
    ACCUMULATOR_PATHS,
    INTEGER_MODES,
    MX9_MODE,
    TIMINGS,
    Mode,
    Shape,
)
from bitpath.golden.aie_ml_v2.declarations.mover import SHUFFLE_CODES, SHUFFLE_MODES
from bitpath.golden.aie_ml_v2.declarations.numerics import AieNumerics
from bitpath.golden.aie_ml_v2.declarations.tile import MOVE, MOVE_PATH
from bitpath.golden.aie_ml_v2.mac.fused_dot import fused_dot
from bitpath.golden.aie_ml_v2.mac.products import integer_matmul, sparse_matmul
from bitpath.golden.aie_ml_v2.mac.sparsity import SparseVector
from bitpath.golden.aie_ml_v2.operands.arguments import numerics_or_default
from bitpath.golden.aie_ml_v2.operands.lanes import shuffle, shuffle_mx
from bitpath.golden.aie_ml_v2.operands.layout import MxBlocks, MxRegisters, from_registers
from bitpath.golden.aie_ml_v2.tile.memory import DataMemory
from bitpath.golden.aie_ml_v2.tile.operation import Operation, Read, Steps
from bitpath.golden.aie_ml_v2.tile.transfers import register_bytes
from bitpath.golden.arrays.arguments import check_choice, checked, integer

MAC_MODES = {mode.name: mode for mode in (*INTEGER_MODES.values(), MX9_MODE)}
"""Modes that the tile issues."""


@checked
@dataclass(frozen=True, kw_only=True)
class Mac(Operation):
    """A native product, added to an accumulator.

    Operands are row-major, little-endian; a sparse B has its slots in X and its mask in G and E. Of MX9 A is an EX with the
    halves of k 0 to 7 of four rows below those of k 8 to 15, and B two EY: the same halves of 16 columns.

    Attributes
    ----------
    mode : "int8", "int16", "int16_64", "int32x16" or "mx9".
    shape : name of one of the mode's shapes, for example "8x16x8T"; None is the first.
    to : the accumulator written, for example "dm2", or "cml2" of a shape that fills half of the lanes.
    a, b : operand registers; `b_high` is MX9's second.
    accumulates : True to add to `to`, False to leave it out.
    signed_a, signed_b : of integers.
    numerics : of MX9 and of the bypass; None is `AIE_ML_V2`'s.

    Raises
    ------
    TypeError, ValueError : another mode or shape; registers of another size.
    """

    slots = ("vec",)
    products = 1
    mode: str
    to: str
    a: str
    b: str
    b_high: str | None = None
    shape: str | None = None
    accumulates: bool = True
    signed_a: bool = True
    signed_b: bool = True
    numerics: AieNumerics | None = None

    def __post_init__(self) -> None:
        check_choice("mode", self.mode, MAC_MODES)
        if self.shape is not None:
            check_choice("shape", self.shape, [each.name for each in self._mode.shapes])
        lanes = self._shape.m * self._shape.n
        sizes = {"to": lanes * self._mode.lane_bits // 8} | dict(zip("ab", self._operand_bytes, strict=True))
        for name, size in sizes.items():
            if register_bytes(getattr(self, name)) != size:
                raise ValueError(f"{name} must name a register of {size} bytes, not {getattr(self, name)}")
        if (self.b_high is not None) != (self._mode is MX9_MODE):
            raise ValueError(f"b_high must be {'a register' if self.b_high is None else 'None'} in mode {self.mode}")

    @property
    def _mode(self) -> Mode:
        return MAC_MODES[self.mode]

    @property
    def _shape(self) -> Shape:
        return next(each for each in self._mode.shapes if self.shape in (None, each.name))

    @property
    def _operand_bytes(self) -> tuple[int, int]:
        mode, shape = self._mode, self._shape
        if mode is MX9_MODE:
            return register_bytes("ex0"), register_bytes("ey0")
        b = shape.n * shape.k * mode.b_bits // 8
        return shape.m * shape.k * mode.a_bits // 8, b // 2 + b // 8 if shape.sparse else b

    @property
    def busy(self) -> int:
        return TIMINGS[self._mode.datapath].issue_interval

    @property
    def _path(self) -> str:
        bypass = numerics_or_default(self.numerics).accumulator_bypass
        return ACCUMULATOR_PATHS[self._mode.datapath] if bypass else ""

    def lands(self) -> Mapping[str, tuple[int, str]]:
        return {self.to: (TIMINGS[self._mode.datapath].write, self._path)}

    def steps(self, memory: DataMemory) -> Steps:
        timing = TIMINGS[self._mode.datapath]
        operands: Any
        if self._mode is MX9_MODE:
            low = yield Read(timing.operand_reads[0], (f"ewl{self.a[2:]}", self.b))
            high = yield Read(timing.operand_reads[1], (f"ewh{self.a[2:]}", str(self.b_high)))
            operands = tuple(zip(low, high, strict=True))
        else:
            operands = yield Read(timing.operand_reads[0], (self.a, self.b))
        acc = None
        if self.accumulates:
            (acc,) = yield Read(timing.accumulator_read, (self.to,), self._path)
        a, b = operands
        total = self._of_blocks(_blocks(*a), _blocks(*b), acc) if self.b_high else self._of_integers(a, b, acc)
        yield {self.to: total.view(np.uint8).ravel()}

    def _of_blocks(self, a: MxBlocks, b: MxBlocks, acc: np.ndarray | None) -> np.ndarray:
        shape = self._shape
        words = None if acc is None else acc.view(np.float32).reshape(shape.m, shape.n)
        return fused_dot(a[:, np.newaxis], b[np.newaxis], words, format=self.mode, numerics=self.numerics)

    def _of_integers(self, a: np.ndarray, b: np.ndarray, acc: np.ndarray | None) -> np.ndarray:
        mode, shape = self._mode, self._shape
        dtype = f"<i{mode.lane_bits // 8}"
        words = None if acc is None else acc.view(dtype).reshape(shape.m, shape.n)
        signs: dict[str, Any] = {"signed_a": self.signed_a, "signed_b": self.signed_b}
        left = _integers(a, mode.a_bits, self.signed_a).reshape(shape.m, shape.k)
        if shape.sparse:
            slots = _sparse(b, mode.b_bits // 8, self.signed_b, shape)
            return sparse_matmul(left, slots, format=self.mode, acc=words, **signs).astype(dtype)
        right = _integers(b, mode.b_bits, self.signed_b).reshape(shape.k, shape.n)
        return integer_matmul(left, right, words, mode=self.mode, shape=self.shape, **signs).astype(dtype)


@checked
@dataclass(frozen=True, kw_only=True)
class Shuffle(Operation):
    """Permute the fields of one or two registers, X, or EX of MX9 with its exponents and shifts.

    Attributes
    ----------
    to, low, high : "x3" or "ex3", all of one kind; `high` as `shuffle` takes it.
    mode : a code, or its name.

    Raises
    ------
    ValueError : registers of other kinds.
    """

    slots = ("mv",)
    to: str
    low: str
    high: str | None = None
    mode: int | str

    def __post_init__(self) -> None:
        check_choice("to", self.to, [f"{kind}{n}" for kind in ("x", "ex") for n in range(12)])
        kinds = [f"{self._kind}{n}" for n in range(12)]
        for name in ("low", *(["high"] if self.high is not None else [])):
            check_choice(name, getattr(self, name), kinds)
        if isinstance(self.mode, str):
            check_choice("mode", self.mode, SHUFFLE_MODES)
        else:
            object.__setattr__(self, "mode", integer("mode", check_choice("mode", self.mode, SHUFFLE_CODES)))

    @property
    def _kind(self) -> str:
        return "ex" if self.to.startswith("ex") else "x"

    def lands(self) -> Mapping[str, tuple[int, str]]:
        assert MOVE.result
        return {self.to: (MOVE.result, MOVE_PATH)}

    def steps(self, memory: DataMemory) -> Steps:
        names = (self.low,) if self.high is None else (self.low, self.high)
        sources = yield Read(MOVE.read, names, MOVE_PATH)
        if self._kind == "x":
            yield {self.to: shuffle(*sources, mode=self.mode)}
            return
        result = shuffle_mx(*map(_mx9, sources), mode=self.mode)
        yield {self.to: np.concatenate([result.data, result.g, result.e])}


def _integers(data: np.ndarray, bits: int, signed: bool) -> np.ndarray:
    return data.view(f"<{'i' if signed else 'u'}{bits // 8}")


def _sparse(data: np.ndarray, entity_bytes: int, signed: bool, shape: Shape) -> SparseVector:
    """Return slots and masks of N columns of K entities; an entity is held where a mask bit of its bytes is set."""
    registers = data.reshape(-1, register_bytes("ex0"))
    size = registers.shape[-1] * 4 // 5  # the mask has two bits a byte of slots
    own, masks = (np.ascontiguousarray(part).ravel() for part in np.split(registers, [size], axis=-1))
    slots = _integers(own, 8 * entity_bytes, signed).reshape(shape.n, -1, SPARSE_KEPT)
    held = np.unpackbits(masks, bitorder="little").reshape(-1, entity_bytes).any(axis=-1)
    bits = held.reshape(shape.n, -1, SPARSE_GROUP) << np.arange(SPARSE_GROUP)
    return SparseVector(slots, bits.sum(axis=-1).astype(np.uint8))


def _mx9(data: np.ndarray) -> MxRegisters:
    """Return an EX as the registers of MX9."""
    return _registers(*np.split(data, [8 * len(data) // 10, 9 * len(data) // 10]))


def _registers(data: np.ndarray, g: np.ndarray, e: np.ndarray) -> MxRegisters:
    return MxRegisters(MX9, data=data, f=np.zeros(0, np.uint8), g=g, e=e)


def _blocks(low: np.ndarray, high: np.ndarray) -> MxBlocks:
    """Return the blocks of rows or columns, [n, 1], from the halves of k 0 to 7 and of k 8 to 15."""
    halves = []
    for half in (low, high):
        units = half.reshape(-1, min(len(half), register_bytes("ex0")))
        size = units.shape[-1] // 10  # of E and of G; data are eight times as many
        fields = np.split(units, [8 * size, 9 * size], axis=-1)
        halves.append([field.reshape(-1, width) for field, width in zip(fields, (8, 1, 1), strict=True)])
    blocks = from_registers(_registers(*(np.stack(pair, axis=1).ravel() for pair in zip(*halves, strict=True))))
    parts = (each[:, np.newaxis] for each in (blocks.exponent, blocks.shift, blocks.codes))
    return MxBlocks(MX9, *parts)
