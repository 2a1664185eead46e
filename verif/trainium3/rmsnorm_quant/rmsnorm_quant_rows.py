"""RMSNorm-Quant of an array on the row unit: commands, the elements of their rows, and bytes back to rows."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction

import numpy as np

from bitpath.golden.arrays.codec import codes_of, format_of
from bitpath.golden.formats.catalogue import BF16, FP16, FP32
from bitpath.golden.scalar.rounding import round_to_format
from bitpath.golden.trainium3.declarations.vector import (
    ROW_TILE,
    SCALE_BYTES,
    TRAINIUM3_RMSNORM_QUANT,
    TRAINIUM3_RMSNORM_QUANT_OCP,
    DtypeMode,
    EpsPlacement,
    QuantType,
    RmsNormQuantNumerics,
)
from bitpath.golden.trainium3.vector.engine import real
from bitpath.rtl.trainium3.rmsnorm_quant.layouts import RmsNormQuantConfig, command_layout
from bitpath.rtl.trainium3.vector.exponential import Source
from bitpath.verif.kit.mismatches import Shown
from bitpath.verif.kit.packing import pack
from bitpath.verif.kit.values import code_text

NUMERICS = TRAINIUM3_RMSNORM_QUANT.numerics


@dataclass(frozen=True, kw_only=True)
class Options:
    """Arguments of `bitpath.golden.trainium3.core.rmsnorm` that are not arrays, with the same names."""

    eps: float = float(NUMERICS.eps)
    eps_placement: str = NUMERICS.eps_placement.value
    quant_type: str = QuantType.ROW.value
    quant_only: bool = False
    lower_bound: float = 0.0
    dtype_mode: str = DtypeMode.NON_OCP.value

    def __post_init__(self):
        """Numbers of numpy's become Python's, which fractions and files take."""
        for name in ("eps", "lower_bound"):
            object.__setattr__(self, name, real(name, getattr(self, name)))

    @property
    def ocp(self) -> bool:
        return DtypeMode(self.dtype_mode) is DtypeMode.OCP

    @property
    def numerics(self) -> RmsNormQuantNumerics:
        return TRAINIUM3_RMSNORM_QUANT_OCP.numerics if self.ocp else NUMERICS

    @property
    def static(self) -> bool:
        return QuantType(self.quant_type) is QuantType.STATIC

    @property
    def eps_after_root(self) -> bool:
        return EpsPlacement(self.eps_placement) is EpsPlacement.GOLDEN

    @property
    def bounded(self) -> bool:
        """True if the lower bound affects a row's own scale."""
        return Fraction(self.lower_bound) > NUMERICS.min_dequant_scale


@dataclass(frozen=True, kw_only=True, eq=False)
class Rows:
    """Rows to be quantised, checked by golden: all that the row unit needs to know.

    Attributes
    ----------
    hidden : bfloat16, float16 or float32 [rows, H].
    gamma : bfloat16 or float16 [H], or None where nothing is normalised.
    in_scale : float32 [128, 1] with a static scale, else None.
    options : all else.
    """

    hidden: np.ndarray
    gamma: np.ndarray | None
    in_scale: np.ndarray | None
    options: Options

    def shown(self, index: int, path: str, first: int = 0) -> Shown:
        """The element whose byte differs, from byte ``index`` of the rows from ``first`` on and the lane in its path."""
        lane, length = first + int(path.partition(".")[2] or 0), self.hidden.shape[1]
        operands = {
            "options": ", ".join(f"{name} {value}" for name, value in asdict(self.options).items()),
            "place": f"row {lane}, byte {index} of {self.row_bytes}",
        }
        if index >= length or lane >= len(self.hidden):
            return Shown(operands=operands)
        operands["hidden"] = code_text(format_of(self.hidden.dtype), int(codes_of(self.hidden)[lane, index]))
        if self.gamma is not None:
            operands["gamma"] = code_text(format_of(self.gamma.dtype), int(codes_of(self.gamma)[index]))
        return Shown(operands=operands, formats={"bytes": self.options.numerics.output})

    @property
    def row_bytes(self) -> int:
        """Bytes of a row of the output."""
        return self.hidden.shape[1] + (0 if self.options.static else SCALE_BYTES)


@dataclass(frozen=True)
class Batch:
    """A row in each lane: stream payloads, element after element.

    Attributes
    ----------
    first, count : rows of the array.
    command, hidden, gamma : for the streams of these names.
    """

    first: int
    count: int
    command: int
    hidden: Sequence[int]
    gamma: Sequence[int]


def lower(config: RmsNormQuantConfig, rows: Rows) -> list[Batch]:
    """The commands for all rows; the last ones' surplus lanes work on zeros.

    Raises
    ------
    ValueError : rows that are longer than the row memory.
    """
    count, length = rows.hidden.shape
    if not 0 < length <= config.max_row_length:
        raise ValueError(f"rmsnorm_quant: rows have {length} elements, row memory holds 1 to {config.max_row_length}")
    # Codes of 16 bits stand above 16 zeros.
    codes = codes_of(rows.hidden).astype(np.uint32) << FP32.width - 8 * rows.hidden.itemsize
    codes = np.pad(codes, ((0, -count % config.lanes), (0, 0)))
    gamma = [] if rows.options.quant_only else codes_of(rows.gamma).tolist()
    return [
        Batch(
            first,
            min(config.lanes, count - first),
            _command(config, rows, first),
            words(codes[first : first + config.lanes].T),
            gamma,
        )
        for first in range(0, count, config.lanes)
    ]


def words(table: np.ndarray) -> list[int]:
    """The integers of a table's rows, element 0 lowest."""
    data, size = np.ascontiguousarray(table).tobytes(), table.shape[1] * table.itemsize
    return [int.from_bytes(data[start : start + size], "little") for start in range(0, len(data), size)]


def beats(config: RmsNormQuantConfig, output: np.ndarray) -> list[int]:
    """The payloads that bring rows, uint8 [lanes, bytes]."""
    payloads = words(output.T)
    payloads[-1] |= 1 << 8 * config.lanes
    return payloads


def output_rows(config: RmsNormQuantConfig, batch: Batch, payloads: Sequence[int]) -> np.ndarray:
    """The rows of a batch, uint8 [count, bytes], from the payloads that came."""
    mask = (1 << 8 * config.lanes) - 1
    data = b"".join((payload & mask).to_bytes(config.lanes, "little") for payload in payloads)
    return np.frombuffer(data, np.uint8).reshape(-1, config.lanes).T[: batch.count]


def _command(config: RmsNormQuantConfig, rows: Rows, first: int) -> int:
    options, length = rows.options, rows.hidden.shape[1]
    scales = [0] * config.lanes
    if options.static:
        numbers = np.arange(first, first + config.lanes) % ROW_TILE
        scales = rows.in_scale[numbers, 0].view(np.uint32).tolist()
    return pack(
        command_layout(config),
        {
            "row_length": length,
            "options": {
                "static": options.static,
                "quant_only": options.quant_only,
                "ocp": options.ocp,
                "eps_after_root": options.eps_after_root,
                "gamma_fp16": rows.gamma is not None and format_of(rows.gamma.dtype) == FP16,
                "has_lower_bound": options.bounded,
                "lower_bound": round_to_format(Fraction(options.lower_bound), FP32),
                "eps": round_to_format(Fraction(options.eps), BF16),
                "reciprocal_length": round_to_format(Fraction(1, length), FP32),
                "source": Source[format_of(rows.hidden.dtype).name],
            },
            "in_scale": scales,
        },
    )
