"""Rows for the RMSNorm-Quant row unit: random ones by class, in every mode."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
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
    """Any bits of FP32, half of which are numbers of BF16."""
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
    and +0. Of FP32 as many codes, most of them next to half-way between two numbers of BF16."""
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
