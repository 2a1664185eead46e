"""A case of a kernel test: one operation of the kernel library, its formats at every stage, and the shapes of its operands.

Ref: tt-llk 36b092e, tests/python_tests, for operations, shapes and names; tt-isa-documentation for the formats.
"""

from collections.abc import Callable, Sequence
from dataclasses import MISSING, dataclass, fields
from enum import Enum
from math import prod
from typing import Any, NamedTuple, cast

import numpy as np

from bitpath.golden.arrays.arguments import check_choice, check_instance, check_length, checked, integer, one_of, shown
from bitpath.golden.arrays.files import parse_json
from bitpath.golden.tensix.convert.formats import INTEGERS
from bitpath.golden.tensix.convert.pack import ACCUMULATING_FORMATS, check_relu, row_masks, settled_formats
from bitpath.golden.tensix.convert.unpack import CONVERSIONS
from bitpath.golden.tensix.declarations.encodings import WORD_BITS
from bitpath.golden.tensix.declarations.formats import (
    BLOCK_FLOATS,
    COLUMNS,
    EXPONENT5_FORMATS,
    FACE,
    STYLE_FORMATS,
    TILE,
    Chip,
    Fidelity,
    Format,
    Style,
)
from bitpath.golden.tensix.declarations.numerics import CHIP_PRESETS, TensixNumerics
from bitpath.golden.tensix.llk.functions.function import Function, Mode, numbers_by_name
from bitpath.golden.tensix.llk.functions.table import FUNCTIONS, named_function
from bitpath.golden.tensix.matmul.host import TILE_ROWS
from bitpath.golden.tensix.operands.arguments import check_dst32, format_member, phases

# Formats from stage to stage: the kernel library's names, what Dst holds, and the intermediate formats that may follow.


LLK_NAMES = {
    "Float32": "FP32",
    "Tf32": "TF32",
    "Float16_b": "BF16",
    "Float16": "FP16",
    "Bfp8_b": "BFP8",
    "Bfp4_b": "BFP4",
    "Bfp2_b": "BFP2",
    "Bfp8": "BFP8A",
    "Bfp4": "BFP4A",
    "Bfp2": "BFP2A",
    "Lf8": "FP8",
    "Fp8_e4m3": "FP8",
    "Int32": "INT32",
    "UInt32": "INT32",
    "Int16": "INT16",
    "UInt16": "INT16",
    "Int8": "INT8",
    "UInt8": "INT8",
}
"""Names of `Format` by those of the kernel library's tests. The bits of UInt32 and UInt16 are copied as INT32's and INT16's."""
MODES = {"e4m3": ("Fp8_e4m3", "Lf8"), "unsigned": ("UInt8", "Int8")}
"""Fields that the first name sets; the second one has the same code without it."""
QUASAR_FORMATS = ("MxFp8R", "MxFp8P")
"""The library's formats that Wormhole and Blackhole have not."""
NOT_COMPUTED = {
    Format.FP32: "a source holds 19 bits, as TF32",
    Format.INT32: "a source holds 19 bits, and the Vector unit computes with 32-bit integers",
    Format.INT16: "its bits are no number to the Matrix unit, whose moves flush some of them",
}
"""Formats that are unpacked to Dst, and why the Matrix unit does not compute with them."""
NOT_MOVED = "integers and FP16 do not move from 32-bit words of Dst to a source"
MID_FORMATS = {
    Format.FP32: (Format.FP32, Format.TF32, Format.BF16, Format.BFP8, Format.INT16),
    Format.INT32: (Format.INT32, Format.INT8),
    Format.BF16: (Format.BF16, Format.TF32, Format.BFP8),
    Format.FP16: (Format.FP16, Format.BFP8A),
    Format.INT16: (Format.INT16,),
}
"""Intermediate formats by what Dst holds."""
ROUND_10B_MIDS = (Format.FP16,)
"""Further ones with Round_10b, from FP32 and BF16."""
MID_CARRIERS = {
    Format.FP32: Format.FP32,
    Format.TF32: Format.FP32,
    Format.BF16: Format.BF16,
    Format.BFP8: Format.BF16,
    Format.FP16: Format.FP16,
    Format.BFP8A: Format.FP16,
    Format.INT32: Format.INT32,
    Format.INT16: Format.INT16,
    Format.INT8: Format.INT8,
}
"""L1 formats that hold every bit of an intermediate format."""


def style_of(register: Format) -> Style:
    """Return the style in which the Matrix unit reads sources of a format."""
    if register is Format.INT8:
        return Style.INT8
    if register is Format.TF32:
        return Style.TF32
    return Style.FP16 if register in EXPONENT5_FORMATS else Style.BF16


def dst_format(register: Format, *, dst32: bool) -> Format:
    """Return the format of Dst's words."""
    if register in (Format.INT8, Format.INT32):
        return Format.INT32
    if register is Format.INT16:
        return Format.INT16
    if dst32:
        return Format.FP32
    return Format.FP16 if style_of(register) is Style.FP16 else Format.BF16


class Op(Enum):
    """Operations, each from L1 to L1."""

    MATMUL = "matmul"
    ELWADD = "elwadd"
    ELWSUB = "elwsub"
    ELWMUL = "elwmul"
    REDUCE = "reduce"
    DATACOPY = "datacopy"
    TRANSPOSE = "transpose"  # of each tile
    TILIZE = "tilize"  # a row-major matrix to tiles, by the unpacker
    UNTILIZE = "untilize"  # tiles to a row-major matrix, by the unpacker
    PACK_UNTILIZE = "pack_untilize"  # the same by the packer
    UNARY_BROADCAST = "unary_broadcast"  # a broadcast operand, by way of SrcB
    REDUCE_BLOCK_MAX = "reduce_block_max"  # the maximum of each row of a row of tiles, in column 0 of one tile
    PACK_ROWS = "pack_rows"  # the first rows of 16 datums of each tile
    SFPU = "sfpu"  # a function, or words, of the Vector unit on a copy in Dst


class Broadcast(Enum):
    """Datums that an operation repeats, of the right operand's tile or of a unary broadcast's operand."""

    NONE = "NONE"
    COL = "COL"  # column 0
    ROW = "ROW"  # row 0
    SCALAR = "SCALAR"  # the first datum


class Pool(Enum):
    """Pooling of a reduction: GAPOOL for sums and averages, which differ in the scaler alone, or GMPOOL."""

    SUM = "SUM"
    AVG = "AVG"
    MAX = "MAX"


class ReduceDim(Enum):
    """Datums of a reduced tile that remain; all others become zero."""

    COL = "COL"  # row 0: each column is reduced
    ROW = "ROW"  # column 0
    SCALAR = "SCALAR"  # the first datum


class DestReuse(Enum):
    """Source whose operand an element-wise operation first copies to Dst and then moves back."""

    NONE = "NONE"
    DEST_TO_SRCA = "DEST_TO_SRCA"  # the left operand
    DEST_TO_SRCB = "DEST_TO_SRCB"  # the right operand


class StochasticRounding(Enum):
    """Roundings with random bits."""

    NONE = "None"
    PACK = "Pack"  # the packer's first conversion


ELEMENTWISE = (Op.ELWADD, Op.ELWSUB, Op.ELWMUL)
REDUCTIONS = (Op.REDUCE, Op.REDUCE_BLOCK_MAX)
BINARY = (Op.MATMUL, *ELEMENTWISE, *REDUCTIONS)
ROW_MAJOR_RESULTS = (Op.UNTILIZE, Op.PACK_UNTILIZE, Op.PACK_ROWS)
REARRANGING = (Op.TRANSPOSE, Op.UNARY_BROADCAST)
"""Operations that move the halves of 32-bit words within Dst, with all their bits."""
TO_DST = (Op.DATACOPY, Op.TILIZE, Op.UNTILIZE, Op.PACK_UNTILIZE, Op.PACK_ROWS, Op.SFPU, *REARRANGING)
"""Operations whose operand may go to a 32-bit Dst without SrcA."""


TINY = (Op.MATMUL, *ELEMENTWISE, Op.REDUCE, Op.DATACOPY)
"""Operations on tiles of less than four faces."""
TILES = ((32, 32), (16, 32), (32, 16), (16, 16))
"""Rows and columns of a tile of whole faces."""
TRANSPOSING = (Op.MATMUL, *ELEMENTWISE, Op.DATACOPY)
"""Operations that may read SrcA transposed."""

FORMAT_FIELDS = ("in_a", "in_b", "register_format", "mid_format", "out_format")
OPTIONAL_FORMATS = ("in_b", "register_b")
TRANSPOSE_FIELDS = ("unpack_transpose_faces", "unpack_transpose_within_face")


class Formats(NamedTuple):
    """The formats of a case."""

    in_a: Format
    in_b: Format | None
    register: Format
    mid: Format
    out: Format


@checked
@dataclass(frozen=True, kw_only=True)
class Case:
    """An operation from L1 to L1.

    Formats are members, codes, or names: those of `Format`, or the kernel library's, as "Float16_b" or "Bfp8_b". "Fp8_e4m3" is FP8
    with `e4m3`, "UInt8" is INT8 with `unsigned`.

    Attributes
    ----------
    op : one of `Op` or its value. The left operand of "matmul" goes to SrcB, that of all others to SrcA; "elwsub" is left less right.
    in_a, in_b : formats of the left and the right operand in L1; `in_b` is None where there is one operand.
    register_format : format of both source registers; FP32, INT32 and INT16 are unpacked to Dst, INT16 to one of 16 bits.
    register_b : format of the right operand's register where it differs; None is `register_format`. Each register has one format,
        that of SrcA says how the Matrix unit reads both, and so their exponents must have the same width.
    mid_format, out_format : the packer's intermediate format, and the format of the result in L1.
    fidelity : of "matmul", "elwmul", and "reduce" but for MAX: "LoFi", "HiFi2", "HiFi3", "HiFi4".
    dst32 : True if Dst words have 32 bits.
    dimensions_a, dimensions_b : rows and columns of the operands, multiples of a tile's. Those of two operands are equal, but for
        "matmul", where they multiply, and reductions, whose right operand is one tile of scalers.
    tile : rows and columns of the result's tiles, 16 or 32, of "matmul", element-wise operations, "reduce" and "datacopy". A left
        operand of "matmul" has 32 columns a tile, a right one 32 rows.
    broadcast : of "elwadd", "elwsub", "elwmul" and "unary_broadcast".
    dest_reuse : of element-wise operations.
    pool, reduce_dim : of "reduce".
    pack_rows : of "pack_rows": rows of 16 datums of each tile, 1 to 64.
    function, approximate, fast, parameters : of "sfpu": a name of `FUNCTIONS` with one result, its form, and a mapping of
        parameters, which becomes pairs. All operands are copied to Dst. Of three operands, the right one holds the second matrix
        and below it the third.
    seed : of "sfpu": PRNG_SEED of a function that draws random numbers.
    words : of "sfpu": instead of a function, instructions of the Vector unit for each tile, with the right operand's tile 64 rows
        after the left one's.
    unpack_transpose_faces, unpack_transpose_within_face : the operand of SrcA has its faces 1 and 2 exchanged, and each face
        transposed; of "matmul", element-wise operations and "datacopy" by way of SrcA.
    relu, relu_threshold, round_10b, edge_minus_infinity : as `tensix.pack` takes them.
    edge_mask : the packer's mask of 16 bits for all rows, or masks for the 64 rows of each tile (of a small one fewer). A
        reduction has one of its own, and keeps a datum that both keep.
    l1_accumulate : True if the packer adds to the result's bytes before, `l1_before` of `expected`; FP32, BF16 and FP16.
    stochastic_rounding : "Pack" if the packer rounds with the random bits that `expected` takes. Those of the Matrix unit are not
        public.
    e4m3 : True if FP8 in L1 is E4M3; Blackhole's alone.
    unsigned : True if INT8 in L1 is 0 to 255.
    chip : "wormhole" or "blackhole".

    Raises
    ------
    TypeError, ValueError : formats that do not follow each other, shapes that do not fit, an option of another operation.
    """

    op: Op | str
    in_a: Format | int | str
    register_format: Format | int | str
    mid_format: Format | int | str
    out_format: Format | int | str
    in_b: Format | int | str | None = None
    register_b: Format | int | str | None = None
    fidelity: Fidelity | str = Fidelity.LOFI
    dst32: bool = False
    dimensions_a: tuple[int, int] = (TILE, TILE)
    dimensions_b: tuple[int, int] = (TILE, TILE)
    tile: tuple[int, int] = (TILE, TILE)
    broadcast: Broadcast | str = Broadcast.NONE
    dest_reuse: DestReuse | str = DestReuse.NONE
    pool: Pool | str = Pool.SUM
    reduce_dim: ReduceDim | str = ReduceDim.COL
    pack_rows: int = TILE_ROWS
    function: str | None = None
    approximate: bool = False
    fast: bool = False
    parameters: Any = ()
    seed: int = 0
    words: tuple[int, ...] = ()
    unpack_transpose_faces: bool = False
    unpack_transpose_within_face: bool = False
    relu: int = 0
    relu_threshold: int = 0
    edge_mask: int | tuple[int, ...] | None = None
    edge_minus_infinity: bool = False
    l1_accumulate: bool = False
    round_10b: bool = False
    stochastic_rounding: StochasticRounding | str = StochasticRounding.NONE
    e4m3: bool = False
    unsigned: bool = False
    chip: Chip | str = Chip.WORMHOLE

    def __post_init__(self) -> None:
        named = {name: getattr(self, name) for name in (*FORMAT_FIELDS, "register_b")}
        names = {value for value in named.values() if isinstance(value, str)}
        for mode, pair in MODES.items():
            if pair[0] in names:
                if pair[1] in names:
                    raise ValueError(f"formats must not be {pair[0]} and {pair[1]}, which are one mode of a case")
                object.__setattr__(self, mode, True)
        for name, value in named.items():
            if value is not None or name not in OPTIONAL_FORMATS:
                object.__setattr__(self, name, _format(name, value))
        object.__setattr__(self, "tile", _tile(self.tile))
        object.__setattr__(self, "pack_rows", integer("pack_rows", self.pack_rows, range(1, TILE_ROWS + 1)))
        for name in ("dimensions_a", "dimensions_b"):
            object.__setattr__(self, name, _dimensions(name, getattr(self, name), self._tile_of(name)))
        if self.edge_mask is not None:
            object.__setattr__(self, "edge_mask", _edge_mask(self.edge_mask, prod(self.tile)))
        object.__setattr__(self, "parameters", tuple(sorted(numbers_by_name(self.parameters).items())))
        if self.function is not None:
            check_instance("function", self.function, str)
        object.__setattr__(self, "seed", integer("seed", self.seed, range(1 << 32)))
        words = (integer(f"words[{i}]", each, range(1 << WORD_BITS)) for i, each in enumerate(self.words))
        object.__setattr__(self, "words", tuple(words))
        self._check_function()
        self._check_shapes()
        self._check_sources()
        self._check_options()
        self._check_packing()

    @classmethod
    def from_json(cls, text: str) -> "Case":
        """Return the case of a JSON object whose keys are the attributes.

        Raises
        ------
        TypeError, ValueError : no such object, an unknown or a missing key, and as the class.
        """
        try:
            values = parse_json(text)
        except ValueError as error:
            raise ValueError(f"case {error}") from None
        return cls.from_dict(values)

    @classmethod
    def from_dict(cls, values: Any) -> "Case":
        """Return the case of the values of a JSON object, by name.

        Raises
        ------
        TypeError, ValueError : as `from_json`.
        """
        if not isinstance(values, dict):
            raise TypeError(f"case must be an object of names and values, not {type(values).__name__}")
        known = {each.name: each for each in fields(cls)}
        for name in values:
            check_choice("case's key", name, known)
        missing = [name for name, each in known.items() if each.default is MISSING and name not in values]
        if missing:
            raise ValueError(f"case must have {one_of(missing)}, not only {one_of(values) if values else 'nothing'}")
        return cls(**values)

    @property
    def formats(self) -> Formats:
        return Formats(*(getattr(self, name) for name in FORMAT_FIELDS))

    @property
    def sources(self) -> tuple[Format, Format]:
        """Formats of SrcA and of SrcB."""
        left = self.formats.register
        right = left if self.register_b is None else cast(Format, self.register_b)
        return (right, left) if self.op is Op.MATMUL else (left, right)

    @property
    def style(self) -> Style:
        """Style in which the Matrix unit reads its sources, SrcA's."""
        return style_of(self.sources[0])

    @property
    def held(self) -> Format:
        """Format of Dst's words in the end."""
        result = self.vector_function.result if self.function else None
        return result or dst_format(self.sources[0], dst32=self.dst32)

    @property
    def vector_function(self) -> Function:
        """Function of "sfpu"."""
        return FUNCTIONS[str(self.function)]

    @property
    def mode(self) -> Mode:
        """Form of the function."""
        return Mode(chip=self.chip, approximate=self.approximate, fast=self.fast, dst32=self.dst32)

    @property
    def tiles(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """Rows and columns of a tile of both operands."""
        return self._tile_of("dimensions_a"), self._tile_of("dimensions_b")

    @property
    def numerics(self) -> TensixNumerics:
        return CHIP_PRESETS[cast(Chip, self.chip)].numerics

    @property
    def result_dimensions(self) -> tuple[int, int]:
        """Rows and columns of the result; of "pack_rows" those of all tiles one below the other."""
        rows, columns = self.dimensions_a
        if self.op is Op.PACK_ROWS:
            return rows * columns // prod(self.tile) * self.pack_rows, FACE
        if self.op is Op.REDUCE_BLOCK_MAX:
            return rows, TILE
        return rows, self.dimensions_b[1] if self.op is Op.MATMUL else columns

    @property
    def has_phases(self) -> bool:
        """True if the operation multiplies in fidelity phases."""
        return self.op in (Op.MATMUL, Op.ELWMUL) or (self.op is Op.REDUCE and self.pool is not Pool.MAX)

    @property
    def to_dst(self) -> bool:
        """True if the unpacker writes Dst."""
        return self.formats.register in NOT_COMPUTED

    def _tile_of(self, name: str) -> tuple[int, int]:
        """Return rows and columns of an operand's tiles."""
        rows, columns = self.tile
        if self.op is Op.MATMUL:
            return (rows, TILE) if name == "dimensions_a" else (TILE, columns)
        return self.tile

    def _check_function(self) -> None:
        if self.op is not Op.SFPU:
            return
        if (self.function is None) == (not self.words):
            given = "both" if self.words else "neither"
            raise ValueError(f"function or words must be given with sfpu, one of them, not {given}")
        if self.function is None:
            return
        function = named_function(self.function)
        function.checked_parameters(self.mode, dict(self.parameters))
        if function.results != (0,):
            raise ValueError(
                f"function must be one with its result in the first operand's place in a case, not {self.function}; use llk.apply"
            )
        if function.reads_uint16 != (self.formats.register is Format.INT16):
            wanted = "INT16" if function.reads_uint16 else "another format"
            raise ValueError(
                f"register_format must be {wanted} with {self.function}, not {_named(self.formats.register)}"
            )
        if (function.operands > 1) != (self.in_b is not None):
            wanted = "a format" if function.operands > 1 else "None"
            raise ValueError(f"in_b must be {wanted} with {self.function}, not {_named(cast(Any, self.in_b))}")

    def _check_shapes(self) -> None:
        a, b = self.dimensions_a, self.dimensions_b
        if self.op not in TINY and self.tile != (TILE, TILE):
            raise ValueError(f"tile must be (32, 32) with {cast(Op, self.op).value}, not {self.tile}")
        if self.op is Op.SFPU and self.in_b is not None:
            count = self.vector_function.operands - 1 if self.function else 1
            if b != (count * a[0], a[1]):
                wanted = f"{a} as dimensions_a" if count == 1 else f"{(count * a[0], a[1])} for {count} operands"
                raise ValueError(f"dimensions_b must be {wanted}, not {b}")
            return
        if (self.in_b is None) == (self.op in BINARY):
            wanted = "a format" if self.op in BINARY else "None"
            raise ValueError(f"in_b must be {wanted} with {cast(Op, self.op).value}, not {_named(self.formats.in_b)}")
        if self.op is Op.MATMUL and a[1] != b[0]:
            raise ValueError(f"dimensions_b must have {a[1]} rows, as many as dimensions_a has columns, not {b[0]}")
        if self.op in ELEMENTWISE and a != b:
            raise ValueError(f"dimensions_b must be {a} as dimensions_a, not {b}")
        if self.op not in (Op.MATMUL, *ELEMENTWISE) and b != self.tile and (self.in_b is not None or b != (TILE, TILE)):
            raise ValueError(f"dimensions_b must be {self.tile} with {cast(Op, self.op).value}, not {b}")

    def _check_sources(self) -> None:
        given, op = self.formats, cast(Op, self.op)
        if self.in_b is None and self.register_b is not None:
            raise ValueError(f"register_b must be None with {op.value}, not {_named(cast(Format, self.register_b))}")
        pairs = (
            ("register_format", given.register, "in_a", given.in_a),
            ("register_b", self.register_b, "in_b", given.in_b),
        )
        for name, register, l1_name, stored in pairs:
            own = given.register if register is None else cast(Format, register)
            if stored is not None and own not in CONVERSIONS[stored]:
                known = one_of(each.name for each in CONVERSIONS[stored])
                field = "register_format" if register is None else name
                raise ValueError(f"{field} must be {known} with {l1_name} {stored.name}, not {own.name}")
        if self.to_dst and (op not in TO_DST or (op in REARRANGING and given.register is Format.INT16)):
            raise ValueError(
                f"register_format must be a format that {op.value} computes with, not {given.register.name}: "
                f"{NOT_COMPUTED[given.register]}"
            )
        if self.sources[1] not in STYLE_FORMATS[self.style] and not self.to_dst:
            known = one_of(each.name for each in STYLE_FORMATS[self.style])
            raise ValueError(f"SrcB must be {known} with {self.sources[0].name} in SrcA, not {self.sources[1].name}")
        if self.to_dst and self.dst32 == (given.register is Format.INT16):
            raise ValueError(
                f"dst32 must be {not self.dst32} with register_format {given.register.name}, not {self.dst32}"
            )
        check_dst32(self.style, self.dst32)
        if op is Op.TILIZE and given.in_a in BLOCK_FLOATS:
            raise ValueError(
                f"in_a must be no block float with tilize, not {given.in_a.name}: a row-major matrix has no exponents"
            )
        if op in ROW_MAJOR_RESULTS and given.out in BLOCK_FLOATS:
            raise ValueError(f"out_format must be no block float with {op.value}, not {given.out.name}")
        if op not in BINARY and given.register is Format.TF32 and not self.dst32:
            raise ValueError(f"dst32 must be True with {op.value} and register_format TF32, not False")

    def _check_options(self) -> None:
        op = cast(Op, self.op)
        if not self.has_phases and self.fidelity is not Fidelity.LOFI:
            which = f"{op.value} {cast(Pool, self.pool).value}" if op is Op.REDUCE else op.value
            raise ValueError(f"fidelity must be 'LoFi' with {which}, not {cast(Fidelity, self.fidelity).value!r}")
        transposing = () if self.to_dst else TRANSPOSING
        for name, ops in (
            ("broadcast", (*ELEMENTWISE, Op.UNARY_BROADCAST)),
            ("dest_reuse", ELEMENTWISE),
            ("pack_rows", (Op.PACK_ROWS,)),
            *((name, (Op.SFPU,)) for name in ("function", "approximate", "fast", "parameters", "seed", "words")),
            ("pool", (Op.REDUCE,)),
            ("reduce_dim", (Op.REDUCE,)),
            ("unpack_transpose_faces", transposing),
            ("unpack_transpose_within_face", transposing),
        ):
            default, given = next(each.default for each in fields(self) if each.name == name), getattr(self, name)
            if op not in ops and given != default:
                value = shown(given.value if isinstance(given, Enum) else given)
                raise ValueError(f"{name} must be left out with {op.value}, not {value}")
        if self.style is Style.INT8 or (self.style is Style.FP16 and self.dst32):
            self._check_nothing_leaves_dst()
        if any(self.tile != (TILE, TILE) and getattr(self, name) for name in TRANSPOSE_FIELDS):
            raise ValueError(f"tile must be (32, 32) where SrcA is transposed, not {self.tile}")
        if op is Op.UNARY_BROADCAST:
            self._check_unary_broadcast()

    def _check_nothing_leaves_dst(self) -> None:
        """Raise where rows of a 32-bit Dst with other formats' words move to a source."""
        fmt = f"{self.formats.register.name} and a 32-bit Dst"
        if self.op is Op.REDUCE_BLOCK_MAX:
            raise ValueError(f"register_format must not be {fmt} with reduce_block_max: {NOT_MOVED}")
        for name, wanted in (("dest_reuse", DestReuse.NONE), ("reduce_dim", ReduceDim.COL)):
            value = getattr(self, name)
            if value is not wanted:
                raise ValueError(
                    f"{name} must be {wanted.value!r} with register_format {fmt}, not {value.value!r}: {NOT_MOVED}"
                )

    def _check_unary_broadcast(self) -> None:
        if self.broadcast is Broadcast.NONE:
            raise ValueError("broadcast must be 'COL', 'ROW' or 'SCALAR' with unary_broadcast, not 'NONE'")
        if self.to_dst:
            return
        register = self.formats.register
        moves = register is Format.TF32 or (self.numerics.moves_follow_fp32 and self.style is not Style.FP16)
        if self.broadcast is Broadcast.ROW and self.dst32 and not moves:
            raise ValueError(
                f"dst32 must be False with broadcast 'ROW' of unary_broadcast and register_format {register.name}, "
                "whose datums MOVB2D writes as 16 bits, not True"
            )

    def _check_packing(self) -> None:
        given, held = self.formats, self.held
        known = MID_FORMATS[held] + (ROUND_10B_MIDS if self.round_10b and held in (Format.FP32, Format.BF16) else ())
        if given.mid not in known:
            names = one_of(each.name for each in known)
            raise ValueError(f"mid_format must be {names} with {held.name} in Dst, not {given.mid.name}")
        if self.unsigned and Format.INT8 not in given:
            raise ValueError("unsigned must be False without INT8, not True")
        mid, narrows = settled_formats(self.numerics, given.mid, given.out, dst32=self.dst32, round_10b=self.round_10b)
        if self.stochastic_rounding is not StochasticRounding.NONE and (narrows or mid in (Format.FP32, *INTEGERS)):
            raise ValueError(f"stochastic_rounding must be 'None' with mid_format {mid.name}, not 'Pack'")
        if self.op is Op.PACK_ROWS and given.out in BLOCK_FLOATS:
            raise ValueError(f"out_format must be no block float with pack_rows, not {given.out.name}")
        check_relu(self.relu, self.relu_threshold, mid)
        if self.edge_minus_infinity and (self.edge_mask is None or mid in INTEGERS):
            masks = "None" if self.edge_mask is None else "given"
            raise ValueError(
                f"edge_minus_infinity must be False with mid_format {mid.name} and edge_mask {masks}, not True"
            )
        if self.l1_accumulate and given.out not in ACCUMULATING_FORMATS:
            adding = one_of(each.name for each in ACCUMULATING_FORMATS)
            raise ValueError(f"out_format must be {adding} with l1_accumulate, not {given.out.name}")
        if self.e4m3 and Format.FP8 in (given.in_a, given.in_b, given.out) and not self.numerics.fp8_e4m3:
            raise ValueError("e4m3 must be False with FP8 on wormhole, not True: its FP8 is E5M2")


def _format(name: str, value: Format | int | str) -> Format:
    if isinstance(value, str) and value in QUASAR_FORMATS:
        raise ValueError(
            f"{name} must be a format of Wormhole or Blackhole, not {value!r}: it is Quasar's, whose sums are not public"
        )
    return format_member(name, LLK_NAMES.get(value, value) if isinstance(value, str) else value)


def _tile(sizes: tuple[int, int]) -> tuple[int, int]:
    """Return rows and columns of a tile, checked."""
    check_length("tile", sizes, 2)
    rows, columns = (integer("tile", each, range(1, TILE + 1)) for each in sizes)
    if (rows, columns) not in TILES:
        raise ValueError(f"tile must be {one_of(map(str, TILES))}, not ({rows}, {columns})")
    return rows, columns


def _dimensions(name: str, sizes: tuple[int, int], tile: tuple[int, int]) -> tuple[int, int]:
    """Return rows and columns, checked."""
    check_length(name, sizes, 2)
    rows, columns = (integer(name, each, range(1, 1 << 16)) for each in sizes)
    if rows % tile[0] or columns % tile[1]:
        wanted = f"{TILE}" if tile == (TILE, TILE) else f"{tile[0]} and {tile[1]}"
        raise ValueError(f"{name} must be multiples of {wanted}, not ({rows}, {columns})")
    return rows, columns


def _edge_mask(mask: Sequence[int] | np.ndarray | int, datums: int) -> tuple[int, ...]:
    """Return a mask for each row of a tile, checked."""
    if isinstance(mask, Sequence):
        mask = np.array([integer("edge_mask", each, range(1 << COLUMNS)) for each in mask])
    return tuple(row_masks(mask, datums).tolist())


def _named(fmt: Format | None) -> str:
    return "None" if fmt is None else fmt.name


# The chip that executes a case: golden's, or one that departs from it in one point.


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
