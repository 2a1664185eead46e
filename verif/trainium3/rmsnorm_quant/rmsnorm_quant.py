"""Rows for the RMSNorm-Quant row unit: random ones by class, in every mode, and directed corners."""

import struct
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from random import Random

import numpy as np

from bitpath.golden import trainium3
from bitpath.golden.arrays.codec import DTYPES
from bitpath.golden.formats.catalogue import BF16, FP16, FP32, FloatFormat
from bitpath.golden.trainium3.declarations.vector import ROW_TILE, DtypeMode
from bitpath.verif.trainium3.rmsnorm_quant.rmsnorm_quant_rows import Options, Rows

SOURCES = (BF16, FP16, FP32)
"""Formats of hidden."""
BOUNDS = (0.5, 0.3, 1.0, 2.0**-6, 1.0000001e-6, 3e38)
"""Lower bounds that have an effect."""
NO_BOUNDS = (0.0, 1e-6, 1e-30)
EPS = (1e-6, 1e-6, 1e-6, 0.0, 1e-3, 0.1)


@dataclass(frozen=True, eq=False)
class Case:
    """A row for every lane and its mode, checked by golden.

    Attributes
    ----------
    rows : as many as there are lanes, or fewer.
    mode : name of the mode.
    """

    rows: Rows
    mode: str

    @cached_property
    def expected(self) -> np.ndarray:
        """Golden's bytes, uint8 [rows, bytes]."""
        rows = self.rows
        return trainium3.rmsnorm_quant(rows.hidden, rows.gamma, in_scale=rows.in_scale, **asdict(rows.options))


@dataclass(frozen=True)
class Mode:
    """Mode that a command selects.

    Attributes
    ----------
    options : options without bound and eps.
    bounded : True sets a lower bound.
    gamma : format of gamma, None without normalisation.
    """

    options: Options
    bounded: bool
    gamma: np.dtype | None

    @property
    def name(self) -> str:
        what = "plain" if self.gamma is None else f"{self.options.eps_placement} {self.gamma.name}"
        return f"{self.options.quant_type} {what}{' bounded' if self.bounded else ''}"


MODES = tuple(
    Mode(Options(quant_type=quant_type, quant_only=gamma is None, eps_placement=placement), bounded, gamma)
    for quant_type in ("row", "static")
    for bounded in (False, True)
    for gamma in (DTYPES[BF16], DTYPES[FP16], None)
    for placement in (("kernel",) if gamma is None else ("kernel", "golden"))
)
"""Every combination; with a static scale the bound has no effect."""


def _scaled(deviation: float) -> Callable[[Random, int], np.ndarray]:
    return lambda rng, length: np.array([rng.gauss(0, deviation) for _ in range(length)])


def _wide(rng: Random, length: int) -> np.ndarray:
    return np.array([rng.choice((-1, 1)) * 2.0 ** rng.uniform(-60, 60) for _ in range(length)])


def _any(rng: Random, length: int) -> np.ndarray:
    """Any bits of FP32; half are numbers of BF16."""
    codes = np.array([rng.getrandbits(16) << 16 | rng.getrandbits(16) * rng.getrandbits(1) for _ in range(length)])
    return codes.astype(np.uint32).view(np.float32)


def _special(rng: Random, length: int) -> np.ndarray:
    row = _scaled(1)(rng, length)
    row[rng.randrange(length)] = rng.choice((np.nan, np.inf, -np.inf))
    return row


ROWS: dict[str, Callable[[Random, int], np.ndarray]] = {
    "unit": _scaled(1),
    "large": _scaled(1e4),
    "small": _scaled(1e-3),
    "tiny": _scaled(1e-20),
    "wide": _wide,
    "any": _any,
    "special": _special,
    "zero": lambda rng, length: np.full(length, rng.choice((0.0, -0.0))),
}
"""Classes of rows; a result often shows all of its bits in the first three."""
WEIGHTS = (6, 3, 3, 1, 2, 1, 1, 1)


def in_scales(rng: Random) -> np.ndarray:
    """Static scales, float32 [128, 1]: most of them near what fits unit rows, some at edges of FP32."""
    edges = (0.0, -0.0, np.inf, np.nan, 1e-42, 3e38, -0.01)
    values = [rng.choice(edges) if rng.random() < 0.05 else 2.0 ** rng.uniform(-9, -5) for _ in range(ROW_TILE)]
    return np.array(values, np.float32).reshape(-1, 1)


def random_case(mode: Mode, rng: Random, lanes: int, length: int, source: FloatFormat | None = None) -> Case:
    """A case of that mode with rows of any class, of a source or of any."""
    names = rng.choices(list(ROWS), weights=WEIGHTS, k=lanes)
    with np.errstate(all="ignore"):
        hidden = np.stack([ROWS[name](rng, length) for name in names]).astype(DTYPES[source or rng.choice(SOURCES)])
        gamma = None if mode.gamma is None else _gamma(rng, length).astype(mode.gamma)
    options = replace(
        mode.options,
        eps=rng.choice(EPS),
        lower_bound=rng.choice(BOUNDS if mode.bounded else NO_BOUNDS),
        dtype_mode=rng.choice(list(DtypeMode)).value,
    )
    in_scale = in_scales(rng) if options.static else None
    return Case(Rows(hidden=hidden, gamma=gamma, in_scale=in_scale, options=options), mode.name)


def _gamma(rng: Random, length: int) -> np.ndarray:
    """Mostly around 1; sometimes with zeros of both signs, or with any code."""
    kind = rng.random()
    if kind < 0.1:
        return _any(rng, length)
    gamma = np.array([rng.gauss(1, 0.3) for _ in range(length)])
    if kind < 0.4:
        gamma[rng.randrange(length)] = rng.choice((0.0, -0.0))
    return gamma


def every_code(fmt: FloatFormat, lanes: int, length: int, commands: int, rng: Random) -> list[Case]:
    """All codes of 16 bits, or as many random ones as the commands hold, through the static scale 1: the cast, its clamp,
    and +0. FP32 gets equally many codes, most of them next to half-way between two numbers of BF16."""
    count = 1 << BF16.width
    size = lanes * length
    if fmt is FP32:
        below = np.array([rng.choice((0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF)) for _ in range(count)])
        codes = np.arange(count) << 16 | below
    else:
        codes = np.arange(count)
    if commands * size < count:
        codes = codes[rng.sample(range(count), commands * size)]
    codes = codes.astype(f"u{fmt.width // 8}")
    hidden = np.resize(codes, (-(-len(codes) // size), lanes, length)).view(DTYPES[fmt])
    options = [Options(quant_type="static", quant_only=True, dtype_mode=mode.value) for mode in DtypeMode]
    ones = np.ones((ROW_TILE, 1), np.float32)
    return [
        Case(Rows(hidden=rows, gamma=None, in_scale=ones, options=each), "static plain")
        for each in options
        for rows in hidden
    ]


NAN, LARGEST, INFINITE_SCALE, NAN_SCALE = 0x7F, 0x77, "0000807f", "0000c07f"
LEAST_SCALE = struct.pack("<f", 1e-6).hex()
KERNEL, GOLDEN = Options(), Options(eps_placement="golden")
PLAIN = Options(quant_only=True)
STATIC = Options(quant_type="static")
STATIC_GOLDEN = Options(quant_type="static", eps_placement="golden")
STATIC_PLAIN = Options(quant_type="static", quant_only=True)
OCP = Options(quant_only=True, dtype_mode="ocp")
STATIC_OCP = Options(quant_type="static", quant_only=True, dtype_mode="ocp")


def bounded(options: Options, bound: float) -> Options:
    """The options with a lower bound."""
    return Options(**asdict(options) | {"lower_bound": bound})


@dataclass(frozen=True)
class Corner:
    """A row with its expected codes and scale.

    Attributes
    ----------
    name : name of the bin.
    options : options of the command.
    row, gamma : numbers; None is a gamma of all ones.
    codes, scale : expected results; scale as hexadecimal digits, lowest byte first, "" with a static scale.
    in_scale : static scale.
    gamma_dtype : BF16 or FP16.
    hidden_dtype : BF16, FP16 or FP32.
    """

    name: str
    options: Options
    row: Sequence[float]
    codes: Sequence[int]
    scale: str = ""
    gamma: Sequence[float] | None = None
    in_scale: float = 1.0
    gamma_dtype: np.dtype = field(default=DTYPES[BF16])
    hidden_dtype: np.dtype = field(default=DTYPES[BF16])

    @cached_property
    def rows(self) -> Rows:
        gamma = np.array(np.ones(len(self.row)) if self.gamma is None else self.gamma)
        scales = np.full((ROW_TILE, 1), self.in_scale, np.float32)
        return Rows(
            hidden=np.array([self.row], np.float32).astype(self.hidden_dtype),
            gamma=None if self.options.quant_only else gamma.astype(self.gamma_dtype),
            in_scale=scales if self.options.static else None,
            options=self.options,
        )

    @cached_property
    def expected(self) -> np.ndarray:
        """Golden's bytes, uint8 [1, bytes]."""
        rows = self.rows
        return trainium3.rmsnorm_quant(rows.hidden, rows.gamma, in_scale=rows.in_scale, **asdict(rows.options))

    @property
    def agrees(self) -> bool:
        """True if the golden model gives the stated results."""
        return self.expected.tobytes() == bytes(self.codes) + bytes.fromhex(self.scale)


def _scale_of(largest: float, limit: int = 240) -> str:
    """The scale of a row with this largest absolute value, whose product with 1 / limit numpy rounds."""
    return (np.float32(largest) * np.float32(1 / limit)).tobytes().hex()


CORNERS = (
    *(
        Corner(f"zero row, {options.eps_placement}", options, [0, -0.0, 0], [0x00, 0x80, 0x00], LEAST_SCALE)
        for options in (KERNEL, GOLDEN)
    ),
    # 1/sqrt(0) is infinity, and 0 times it NaN.
    Corner("zero row without eps", Options(eps=0.0), [0, -0.0], [NAN] * 2, NAN_SCALE),
    Corner("zero row, plain", PLAIN, [0, 0], [0, 0], LEAST_SCALE),
    Corner("minus zero, static", STATIC_PLAIN, [-0.0, -0.0], [0, 0]),
    Corner("minus zero, normalised, static", STATIC, [-0.0, 0.0], [0, 0]),
    *(
        Corner(f"row of 1e-20, {options.eps_placement}", options, [1e-20, -1e-20], [0x00, 0x80], LEAST_SCALE)
        for options in (KERNEL, GOLDEN)
    ),
    Corner("row of 1e-20, plain", PLAIN, [1e-20, -1e-20], [0x00, 0x80], LEAST_SCALE),
    # 1e-3 * 707 and 1e-3 * 999, quantised by 1.
    Corner("rms 1e-3, kernel", STATIC, [1e-3, 1e-3], [0x33, 0x33]),
    Corner("rms 1e-3, golden", STATIC_GOLDEN, [1e-3, 1e-3], [0x38, 0x38]),
    # The mean is 0, which leaves eps alone: 2**-10 times 1/sqrt(1e-6), and times 1/1e-6, which is clamped.
    Corner("eps alone, kernel", STATIC, [2.0**-80, 2.0**-80], [0x38, 0x38], in_scale=2.0**-70),
    Corner("eps alone, golden", STATIC_GOLDEN, [2.0**-80, 2.0**-80], [0x77, 0x77], in_scale=2.0**-70),
    *(
        Corner(f"NaN in the row, {options.eps_placement}", options, [1, np.nan, 0], [NAN] * 3, NAN_SCALE)
        for options in (KERNEL, GOLDEN)
    ),
    Corner("NaN in the row, plain", PLAIN, [1, np.nan, 0], [NAN] * 3, NAN_SCALE),
    Corner("NaN in the row, bounded", bounded(PLAIN, 0.5), [1, np.nan, 0], [NAN] * 3, NAN_SCALE),
    Corner("NaN in the row, static", STATIC_PLAIN, [1, np.nan, -1], [0x38, NAN, 0xB8]),
    *(
        Corner(f"infinity in the row, {options.eps_placement}", options, [1, -np.inf, 0], [NAN] * 3, NAN_SCALE)
        for options in (KERNEL, GOLDEN)
    ),
    Corner("infinity in the row, plain", PLAIN, [1, -np.inf, -2], [0x00, NAN, 0x80], INFINITE_SCALE),
    Corner("infinity in the row, bounded", bounded(PLAIN, 2), [1, -np.inf, 0], [0x6F, 0xF7, 0], _scale_of(2)),
    Corner("infinity in the row, static", STATIC_PLAIN, [1, np.inf, -np.inf], [0x38, 0x77, 0xF7]),
    Corner("NaN in gamma", KERNEL, [1, 1], [NAN, NAN], NAN_SCALE, gamma=[1, np.nan]),
    Corner("sum of squares overflows", KERNEL, [2.0**70, -1], [0x00, 0x80], LEAST_SCALE),
    Corner("sum of squares is subnormal", STATIC, [2.0**-66, -(2.0**-66)], [0, 0x80]),
    Corner("minus zero in gamma", KERNEL, [1, 1], [0x00, LARGEST], _scale_of(1.4140625), gamma=[-0.0, 1.4140625]),
    Corner("gamma in FP16", STATIC, [1, 1], [0x01, 0x38], gamma=[2.0**-9, 1], gamma_dtype=DTYPES[FP16]),
    Corner(
        "subnormal gamma in FP16", STATIC, [1, 1], [0x00, 0x01], gamma=[2.0**-24, 2.0**-9], gamma_dtype=DTYPES[FP16]
    ),
    Corner("gamma in BF16 beyond FP16", STATIC, [1, 1], [0x77, 0x00], gamma=[2.0**17, 2.0**-40]),
    Corner("the largest becomes 240", PLAIN, [1.5, -1.5, 0.75], [LARGEST, LARGEST | 0x80, LARGEST - 8], _scale_of(1.5)),
    Corner("one element", KERNEL, [5], [LARGEST], _scale_of(1)),
    Corner("one element, plain", PLAIN, [-5], [LARGEST | 0x80], _scale_of(5)),
    Corner("ties to even", STATIC_PLAIN, [1.0625, 1.1875, -1.3125, 17, 19], [0x38, 0x3A, 0xBA, 0x58, 0x5A]),
    Corner(
        "subnormal codes and their ties",
        STATIC_PLAIN,
        [2.0**-9, 2.0**-10, 3 * 2.0**-10, -(2.0**-10), 1.0078125 * 2.0**-10, 15 * 2.0**-10],
        [0x01, 0x00, 0x02, 0x80, 0x01, 0x08],
    ),
    Corner("clamped to 240", STATIC_PLAIN, [240, 248, -248, 1e30, -1e30], [0x77, 0x77, 0xF7, 0x77, 0xF7]),
    Corner("scale 0", STATIC_PLAIN, [1, -1, 0], [0x77, 0xF7, NAN], in_scale=0.0),
    Corner("scale infinity", STATIC_PLAIN, [1, -1, 0], [0, 0, 0], in_scale=np.inf),
    Corner("scale NaN", STATIC_PLAIN, [1, 0], [NAN, NAN], in_scale=np.nan),
    Corner("negative scale", STATIC_PLAIN, [1, -0.0], [0xB8, 0x00], in_scale=-1.0),
    # BF16 has 0.30078125 for 0.3, which is FP32's in the scale: 240.6, rounded down.
    Corner("bound between BF16 numbers", bounded(PLAIN, 0.3), [1, -1, 0.15], [0x77, 0xF7, 0x6F], _scale_of(0.3)),
    # 1.1137 is 1.1171875 in BF16; 1e6 * 2**-20 times it lies on the other side of the tie of 1 and 1.125.
    Corner("bound that BF16 rounds up", bounded(PLAIN, 1.1137 * 2.0**-20), [1, -1], [0x39, 0xB9], LEAST_SCALE),
    Corner("bound above the row", bounded(PLAIN, 8), [1, -1], [0x77, 0xF7], _scale_of(1)),
    Corner("bound of 1e-6", bounded(PLAIN, 1e-6), [1, 0.5], [0x77, 0x6F], _scale_of(1)),
    Corner("bound just above 1e-6", bounded(PLAIN, 1.0000001e-6), [1, -0.5], [0x38, 0xB8], LEAST_SCALE),
    Corner("bound, normalised", bounded(KERNEL, 0.5), [3, 3, -3], [0x77, 0x77, 0xF7], _scale_of(0.5)),
    # BF16 has 1.0625, which is a tie of FP8 and goes to 1; one rounding would give 1.125.
    Corner("FP32 becomes BF16 first", STATIC_PLAIN, [1.0625 + 2.0**-9, 1.125], [0x38, 0x39], hidden_dtype=DTYPES[FP32]),
    Corner(
        "FP16 becomes BF16 first", STATIC_PLAIN, [1.0625 + 2.0**-9, -1.125], [0x38, 0xB9], hidden_dtype=DTYPES[FP16]
    ),
    Corner("FP32 beyond BF16", STATIC_PLAIN, [3.4e38, -1], [0x77, 0xB8], hidden_dtype=DTYPES[FP32]),
    Corner(
        "subnormal hidden in FP16",
        STATIC_PLAIN,
        [2.0**-24, 3 * 2.0**-24],
        [0x01, 0x03],
        in_scale=2.0**-15,
        hidden_dtype=DTYPES[FP16],
    ),
    Corner("NaN and infinity in FP16", STATIC_PLAIN, [np.nan, -np.inf], [NAN, 0xF7], hidden_dtype=DTYPES[FP16]),
    Corner("the largest becomes 448", OCP, [1.5, -1.5, 0.75], [0x7E, 0xFE, 0x76], _scale_of(1.5, 448)),
    Corner("zero row, OCP", OCP, [0, -0.0], [0x00, 0x80], LEAST_SCALE),
    Corner("NaN in the row, OCP", OCP, [1, np.nan], [NAN] * 2, NAN_SCALE),
    Corner("infinity in the row, OCP", OCP, [1, np.inf], [0x00, NAN], INFINITE_SCALE),
    Corner("clamped to 448", STATIC_OCP, [448, 464, -480, 1e30, np.inf], [0x7E, 0x7E, 0xFE, 0x7E, 0x7E]),
    Corner("ties to even, OCP", STATIC_OCP, [1.0625, 1.1875, 272, 304, 2.0**-10], [0x38, 0x3A, 0x78, 0x7A, 0x00]),
    Corner("bound, static", bounded(STATIC_PLAIN, 0.5), [2, -4], [0x40, 0xC8]),
)
"""Each with its codes and scale worked out from the flow's steps."""
