"""AMD AIE-ML v2's multiplier: the modes of Table 7, native shapes, sparse modes, the control word and the pipeline's cycles.

The references are those of :mod:`bitpath.golden.aie_ml_v2.declarations.codes`.
"""

from dataclasses import dataclass
from enum import Enum, IntEnum

from bitpath.golden.aie_ml_v2.declarations.codes import BFP16EBS8, MX4, MX6, MX9, MxFormat
from bitpath.golden.formats.catalogue import BF16, E4M3, E4M3FN, E4M3FNUZ, E5M2, E5M2FNUZ, FP16, FloatFormat


class Datapath(Enum):
    """Operation of the vector multiplier, which selects the row of the timing table."""

    INTEGER = "integer"
    FLOAT = "float"
    MX6 = "mx6"
    MX9 = "mx9"
    BFP16 = "bfp16"  # XDNA2's; no source gives its cycles, so that `TIMINGS` lacks it


class AMode(IntEnum):
    """Accumulator lanes, by the control word's field of that name."""

    INT32 = 0
    INT64 = 1
    FP32 = 2


@dataclass(frozen=True, kw_only=True)
class Shape:
    """A native matrix product [m, k] @ [k, n]; lane n * row + column is its element.

    Attributes
    ----------
    m, k, n : its dimensions; k counts zeros too where `sparse`.
    transposed : B is given with k innermost.
    sparse : B has at most two nonzero entities among four neighbours along k.
    """

    m: int
    k: int
    n: int
    transposed: bool = False
    sparse: bool = False

    @property
    def name(self) -> str:
        """As LLVM names it, for example 8x16x8T."""
        return f"{self.m}x{self.k}x{self.n}{'T' * self.transposed}"


@dataclass(frozen=True, kw_only=True)
class Convolution:
    """A native convolution: lane ``channels * x + c`` adds ``f[channels * (x + u) + c] * g[channels * u + c]`` over taps u.

    Attributes
    ----------
    outputs, taps : positions x of the result and u of the kernel.
    channels : channels c, which are innermost.
    """

    outputs: int
    taps: int
    channels: int = 1

    @property
    def name(self) -> str:
        """As LLVM names it, for example 8x8_8ch."""
        return f"{self.outputs}x{self.taps}" + (f"_{self.channels}ch" if self.channels > 1 else "")


@dataclass(frozen=True, kw_only=True)
class Mode:
    """A row of Table 7, or XDNA2's product of bfp16ebs8.

    Attributes
    ----------
    name : name of the mode in this project.
    datapath : the units that work.
    a_bits, b_bits : widths of integer operands; 0 for floats and MX.
    formats : formats of float operands, chosen separately for each.
    mx : formats of blocks; MX4 runs as MX6 or as MX9 by `AieNumerics.mx4_path`.
    amode, bmode : fields of the control word.
    shapes : matrix shapes, dense and sparse; the first is the one that `matmul` uses.
    elementwise : (lanes, depth) of element-wise products.
    convolutions : convolutions of operand registers.
    complex_depth : products of a complex lane, a pair of lanes; 0 if the mode has no complex form.
    """

    name: str
    datapath: Datapath
    a_bits: int = 0
    b_bits: int = 0
    formats: tuple[FloatFormat, ...] = ()
    mx: tuple[MxFormat, ...] = ()
    amode: AMode
    bmode: int
    shapes: tuple[Shape, ...]
    elementwise: tuple[tuple[int, int], ...] = ()
    convolutions: tuple[Convolution, ...] = ()
    complex_depth: int = 0

    @property
    def lanes(self) -> int:
        return self.shapes[0].m * self.shapes[0].n

    @property
    def lane_bits(self) -> int:
        return 64 if self.amode is AMode.INT64 else 32

    @property
    def depth(self) -> int:
        """Products of a lane that one instruction sums."""
        return self.shapes[0].k

    @property
    def macs_per_cycle(self) -> int:
        """The table's multiply-accumulates a cycle."""
        return self.lanes * self.depth // TIMINGS[self.datapath].issue_interval

    @property
    def multipliers(self) -> int:
        """9-bit by 5-bit multipliers that a product takes."""
        return MULTIPLIERS // self.macs_per_cycle

    @property
    def sparse_shapes(self) -> tuple[Shape, ...]:
        return tuple(shape for shape in self.shapes if shape.sparse)


FLOAT16_FORMATS = (FP16, BF16)
"""In the order of the control word's format bits."""
FLOAT8_FORMATS = (E4M3, E5M2, E4M3FN, E4M3FNUZ, E5M2FNUZ)
"""The first two in the order of the control word's format bits; the others are representations of these."""

INT8 = Mode(
    name="int8",
    datapath=Datapath.INTEGER,
    a_bits=8,
    b_bits=8,
    amode=AMode.INT32,
    bmode=0,
    shapes=(
        Shape(m=8, k=8, n=8),
        Shape(m=4, k=8, n=16),
        Shape(m=8, k=16, n=8, transposed=True, sparse=True),
        Shape(m=4, k=16, n=16, transposed=True, sparse=True),
        Shape(m=4, k=16, n=8, transposed=True, sparse=True),  # half of the lanes
    ),
    elementwise=((64, 2), (64, 1)),
    convolutions=(Convolution(outputs=64, taps=8), Convolution(outputs=8, taps=8, channels=8)),
)
INT16 = Mode(
    name="int16",
    datapath=Datapath.INTEGER,
    a_bits=16,
    b_bits=16,
    amode=AMode.INT32,
    bmode=1,
    shapes=(Shape(m=8, k=2, n=8),),
    elementwise=((64, 1),),
)
INT16_64 = Mode(
    name="int16_64",
    datapath=Datapath.INTEGER,
    a_bits=16,
    b_bits=16,
    amode=AMode.INT64,
    bmode=1,
    shapes=(Shape(m=4, k=4, n=8), Shape(m=4, k=8, n=8, transposed=True, sparse=True)),
    elementwise=((32, 2),),
    convolutions=(Convolution(outputs=32, taps=4), Convolution(outputs=4, taps=4, channels=8)),
    complex_depth=2,
)
INT32X16 = Mode(
    name="int32x16",
    datapath=Datapath.INTEGER,
    a_bits=32,
    b_bits=16,
    amode=AMode.INT64,
    bmode=0,
    shapes=(Shape(m=4, k=2, n=8),),
    complex_depth=1,
)
FLOAT16 = Mode(
    name="float16",
    datapath=Datapath.FLOAT,
    formats=FLOAT16_FORMATS,
    amode=AMode.FP32,
    bmode=3,
    shapes=(Shape(m=4, k=8, n=8), Shape(m=4, k=16, n=8, transposed=True, sparse=True)),
    elementwise=((64, 1), (32, 1)),
)
FLOAT8 = Mode(
    name="float8",
    datapath=Datapath.FLOAT,
    formats=FLOAT8_FORMATS,
    amode=AMode.FP32,
    bmode=2,
    shapes=(Shape(m=8, k=8, n=8), Shape(m=4, k=16, n=16, transposed=True, sparse=True)),
)
MX6_MODE = Mode(
    name="mx6",
    datapath=Datapath.MX6,
    mx=(MX6, MX4),
    amode=AMode.FP32,
    bmode=0,
    shapes=(Shape(m=4, k=16, n=16, transposed=True),),
)
MX9_MODE = Mode(
    name="mx9",
    datapath=Datapath.MX9,
    mx=(MX9, MX4),
    amode=AMode.FP32,
    bmode=1,
    shapes=(Shape(m=4, k=16, n=16, transposed=True),),
)
BFP16EBS8_MODE = Mode(
    name="bfp16ebs8",
    datapath=Datapath.BFP16,
    mx=(BFP16EBS8,),
    amode=AMode.FP32,
    bmode=MX9_MODE.bmode,
    shapes=(Shape(m=8, k=8, n=8, transposed=True),),
)
"""XDNA2's product, which Table 7 lacks: of two matrices by rows, as one cycle of MX9. Ref: XDNA2 A11."""
MODES = {mode.name: mode for mode in (INT8, INT16, INT16_64, INT32X16, FLOAT16, FLOAT8, MX6_MODE, MX9_MODE)}
"""Table 7 with LLVM's shapes. 8 of MX9's 16 products belong to either of its two cycles, so that 8 is its depth there."""
VARIANTS = {
    ("mx9", "matrix"): 6,
    ("mx6", "matrix"): 0,
    ("float8", "matrix"): 0,
    ("float8", "sparse"): 1,
    ("float16", "element"): 1,
    ("float16", "matrix"): 2,
    ("float16", "sparse"): 3,
}
"""The control word's variant field for floats and MX. Ref: LLVM."""
INTEGER_MODES = {mode.name: mode for mode in MODES.values() if mode.datapath is Datapath.INTEGER}
COMPLEX_LANES = 16
"""Complex lanes of an instruction, pairs of 64-bit lanes: real, then imaginary part."""
COMPLEX_MODES = {"cint16": INT16_64, "cint32x16": INT32X16}
"""Modes with a complex form, by its name."""
INT4_BITS = 4
INT4_SHAPES = {each.name: each for each in (*INT8.shapes[:2], Shape(m=4, k=16, n=16))}
"""Products with 4-bit integers, unpacked to int8; the last one takes two native products. Ref: AM027, API."""
MULTIPLIERS = 1024
"""Multipliers of 9 by 5 bits. Ref: AM027, as UG1639 counts them."""


@dataclass(frozen=True, kw_only=True)
class Field:
    """Bits of the control word, from `low` up."""

    low: int
    width: int = 1


CONTROL_WORD = {
    "zero_acc1": Field(low=0),
    "amode": Field(low=1, width=2),
    "bmode": Field(low=3, width=2),
    "variant": Field(low=5, width=3),
    "sign_y": Field(low=8),
    "sign_x": Field(low=9),
    "shift16": Field(low=10),
    "negate_products": Field(low=11),
    "negate_acc1": Field(low=12),
    "negate_acc2": Field(low=13),
    "complex_negation": Field(low=16, width=8),
    "format_x": Field(low=24),
    "format_y": Field(low=25),
}
"""Ref: LLVM."""
CONTROL_REGISTERS = {
    name: number
    for number, name in enumerate(
        (
            *("crSat", "crRnd", "crFPMask", "SCDEn", "MCDEn", "UnpackSize", "PackSize", "UPSMode", "SRSMode"),
            *("crF2IMask", "crF2FMask"),
        )
    )
} | {"crBF8conf": 21, "crFP8conf": 22, "crFPConvSat": 23}
"""Numbers of control registers; 11 to 20 are signs, 24 to 27 masks. The first generation's differ. Ref: LLVM."""


@dataclass(frozen=True, kw_only=True)
class Timing:
    """Cycles of an instruction's steps, the issue being 1, from LLVM's AIE2PSGenSchedule.td.

    Attributes
    ----------
    operand_reads : cycles in which operands are read; the front end is busy for that number of cycles.
    accumulator_read : when the accumulators are read.
    post_add : when products are summed.
    compare : when exponents are compared and shifts set up; None for integers.
    accumulate : when terms and accumulators are shifted and added.
    write : when the result is normalised and written: the latency.
    """

    operand_reads: tuple[int, ...]
    accumulator_read: int
    post_add: int
    compare: int | None
    accumulate: int
    write: int

    @property
    def issue_interval(self) -> int:
        """Cycles from an instruction to the next that needs no result of it."""
        return len(self.operand_reads)

    @property
    def forwarding(self) -> int:
        """Cycles from an instruction to one on the same path that accumulates onto its result, with the bypass."""
        return self.write - self.accumulator_read


TIMINGS = {
    Datapath.INTEGER: Timing(operand_reads=(1,), accumulator_read=4, post_add=4, compare=None, accumulate=5, write=6),
    Datapath.MX6: Timing(operand_reads=(1,), accumulator_read=3, post_add=4, compare=4, accumulate=5, write=6),
    Datapath.FLOAT: Timing(operand_reads=(1,), accumulator_read=4, post_add=5, compare=5, accumulate=6, write=7),
    Datapath.MX9: Timing(operand_reads=(1, 2), accumulator_read=4, post_add=4, compare=5, accumulate=6, write=7),
}
ACCUMULATOR_PATHS = {
    Datapath.INTEGER: "integer",
    Datapath.MX6: "mx6",
    Datapath.FLOAT: "float",
    Datapath.MX9: "float",
}
"""Which instructions the bypass of `AieNumerics.accumulator_bypass` joins: a writer and a reader on one path."""
FLAGS_AFTER_WRITE = 1
"""Cycles from the write to the flags. Ref: LLVM."""
