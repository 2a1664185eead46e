"""Number formats of signals: how a viewer shows a code, and which format other signals select for it."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from bitpath.golden.aie_ml_v2.declarations.modes import FLOAT8_FORMATS, FLOAT16_FORMATS
from bitpath.golden.formats.catalogue import BF16, CATALOGUE, E2M1, E4M3FN, E5M2, FP16, FloatFormat, Specials
from bitpath.golden.tensix.declarations.formats import Format as TensixFormat
from bitpath.golden.tensix.declarations.formats import Style
from bitpath.rtl.aie_ml_v2.mac.config import DEPTH, FORMAT_BITS, LANE_OPERAND_BITS, MacMode
from bitpath.rtl.tensix.dot.layouts import StyleCode
from bitpath.rtl.trainium3.dot.element_map import ElementFormat
from bitpath.sim.engine import number_filter as process
from bitpath.verif.kit.values import Integer, Number
from bitpath.verif.tensix.dot.numbers import dst_number, l1_number

# How a viewer displays a signal: its number format, or the formats among which the bits above its code select.


@dataclass(frozen=True)
class Unpacked:
    """Tensix' operand of a dot product: sign, 8 bits of biased exponent, magnitude with its leading bit, from the top.

    The exponent may use only its lowest ``exponent_bits``.
    """

    magnitude_bits: int
    exponent_bits: int
    bias: int

    @property
    def width(self) -> int:
        return 1 + 8 + self.magnitude_bits


Format = Number | Unpacked


@dataclass(frozen=True)
class Shown:
    """Number formats of a signal.

    Attributes
    ----------
    name : name of the formats in labels and of the viewer's files.
    bits : width of the code; the bits above it select the format.
    choices : format by the value of these bits, 0 for a signal without them, and the lowest bit of its codes.
    """

    name: str
    bits: int
    choices: Mapping[int, tuple[Format, int]]

    @property
    def file(self) -> str:
        """The name of the viewer's file, without its suffix; formats of one name in one wave are the same formats."""
        return self.name.replace("/", "-")

    @property
    def width(self) -> int:
        """Width of the signal: the code, and the bits that select its format."""
        return self.bits + max(self.choices).bit_length()

    def spec(self) -> dict[str, Any]:
        """Return the JSON value that the filter process reads."""
        return {"bits": self.bits, "choices": {str(at): _spec(*choice) for at, choice in self.choices.items()}}

    def text(self, value: int) -> str:
        """Return the number of a value."""
        return process.shown(self.spec(), value)


def single(fmt: FloatFormat | Integer) -> Shown:
    """Return the display of a signal that has one format."""
    return Shown(fmt.name if isinstance(fmt, FloatFormat) else "integer", fmt.width, {0: (fmt, 0)})


def _spec(fmt: Format, low: int) -> dict[str, Any]:
    if isinstance(fmt, Integer):
        bits = fmt.width - fmt.signed if fmt.magnitude_bits is None else fmt.magnitude_bits
        return {"low": low, "width": fmt.width, "signed": fmt.signed, "magnitude_bits": bits} | {
            "complement": fmt.signed and not fmt.sign_and_magnitude
        }
    common: dict[str, Any] = {"low": low, "width": fmt.width}
    if isinstance(fmt, Unpacked):
        common |= {"exponent_bits": fmt.exponent_bits, "bias": fmt.bias}
        bits = fmt.magnitude_bits
        return common | {
            "signed": True,
            "fraction_bits": bits,
            "places": bits - 1,
            "hidden": 0,
            "nan": [],
            "specials": "",
        }
    assert isinstance(fmt, FloatFormat), fmt
    nans = [] if fmt.nan_code is None else [fmt.nan_code, fmt.nan_code | fmt.sign_mask]
    return common | {
        "exponent_bits": fmt.exponent_bits,
        "bias": fmt.bias,
        "signed": fmt.signed,
        "fraction_bits": fmt.fraction_bits,
        "places": fmt.fraction_bits,
        "hidden": 1,
        "nan": nans if fmt.specials in (Specials.NAN_ONLY, Specials.UNSIGNED_ZERO) else [],
        "specials": fmt.specials.value,
    }


# Signals whose number format other signals select at run time, with the formats that they select.
#
# A build with waves shows such a code below its selecting signals, so that a viewer's filter knows the format of every value.


Choices = Mapping[int, tuple[Format, int]]


@dataclass(frozen=True)
class Selected:
    """Codes whose format is selected at run time.

    Attributes
    ----------
    pattern : regular expression of the code's name, with dots between its parts.
    width : width of that signal; None for any.
    selectors : names of the selecting signals in the same module or payload, the highest bits first, with references to the
        groups of ``pattern``.
    name : name of the formats; empty for their own names.
    choices : function of the configuration, as JSON, that returns the formats by the selectors' value.
    count, slices : for a word of ``count`` codes: the widths that a code may have, the widest first. The signal of code k
        holds code k for each width. Without slices the whole signal is one code.
    """

    pattern: str
    selectors: tuple[str, ...]
    name: str
    choices: Callable[[Any], Choices]
    width: int | None = None
    count: int = 1
    slices: tuple[int, ...] = ()

    def matches(self, name: str, width: int, known: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the names of the selecting signals of a signal of this rule; empty for another signal."""
        found = re.fullmatch(self.pattern, name)
        if found is None or self.width not in (None, width):
            return ()
        names = tuple(found.expand(selector) for selector in self.selectors)
        return names if all(each in known for each in names) else ()

    def parts(self, width: int) -> list[list[tuple[int, int]]]:
        """Return highest and lowest bits of the parts of each code, the widest first."""
        if not self.slices:
            return [[(width - 1, 0)]]
        return [[(size * k + size - 1, size * k) for size in self.slices] for k in range(self.count)]

    def shown(self, config: Any, width: int) -> Shown | None:
        """Return the display of a code in a signal of ``width`` bits; None if the configuration has no such format."""
        choices = self.choices(config)
        if not choices or (not self.slices and max(fmt.width for fmt, _ in choices.values()) != width):
            return None
        name = self.name or "/".join(fmt.name for fmt, _ in choices.values() if isinstance(fmt, FloatFormat))
        return Shown(name, sum(self.slices) or width, choices)


def rule_of(name: str, width: int, known: Mapping[str, Any]) -> tuple["Selected", tuple[str, ...]] | None:
    """Return the rule of a signal with its selecting signals, all among ``known``; None for a signal of one format."""
    found = ((rule, rule.matches(name, width, known)) for rule in SELECTED)
    return next(((rule, selectors) for rule, selectors in found if selectors), None)


def _listed(*formats: Format) -> dict[int, tuple[Format, int]]:
    return {index: (fmt, 0) for index, fmt in enumerate(formats)}


def _code(member: Any) -> int:
    """Return the code of a member of an enumeration of the hardware."""
    return int(member.value)


def _of_config(config: Any) -> Choices:
    """Return the formats of the configuration's ``element_formats``, wherever it has them."""
    if isinstance(config, Mapping):
        if names := config.get("element_formats"):
            return _listed(*(CATALOGUE[name] for name in names))
        return next(filter(None, map(_of_config, config.values())), {})
    return {}


def _of_map(_: Any) -> Choices:
    """Return the formats of an element before Trainium3's map: 8 bits at bit 0, E2M1 at bit 8."""
    return {
        _code(ElementFormat.E4M3FN): (E4M3FN, 0),
        _code(ElementFormat.E5M2): (E5M2, 0),
        _code(ElementFormat.E2M1): (E2M1, 8),
    }


def _of_decode(_: Any) -> Choices:
    """Return the formats of AIE-ML v2's float decoder; ``is_fp8`` is the highest selecting bit."""
    eights = {1 << FORMAT_BITS | index: choice for index, choice in _listed(*FLOAT8_FORMATS).items()}
    return _listed(*FLOAT16_FORMATS) | eights


def _of_lane(_: Any) -> Choices:
    """Return the formats of an element of AIE-ML v2's lane: 8 bits at bit 0, 16 bits at bit 8; the codes of MX9 are
    integers."""
    each = range(1 << FORMAT_BITS)
    modes: dict[Any, list[tuple[Format, int]]] = {
        MacMode.FLOAT8: [(fmt, 0) for fmt in FLOAT8_FORMATS],
        MacMode.FLOAT16: [(fmt, 8) for fmt in FLOAT16_FORMATS],
        MacMode.INT8: [(Integer(8), 0) for _ in each],
        MacMode.MX9: [(Integer(8), 0) for _ in each],
        MacMode.INT16: [(Integer(16), 8) for _ in each],
    }
    return {
        _code(mode) << FORMAT_BITS | index: choice for mode, made in modes.items() for index, choice in enumerate(made)
    }


L1_BITS = (32, 16, 8, 4, 2)
"""Widths of Tensix' datums in L1; the signal of a datum has a part for each."""


def _of_datum(_: Any) -> Choices:
    """Return the formats of Tensix' datum in L1; those of a block are integers, which its exponent scales."""
    numbers = {fmt.value: l1_number(fmt) for fmt in TensixFormat}
    return {value: (fmt, sum(bits for bits in L1_BITS if bits < fmt.width)) for value, fmt in numbers.items()}


def _of_operand(_: Any) -> Choices:
    """Return the formats of an operand of Tensix' dot product, by the style's code."""
    bias = {Style.BF16: BF16.bias, Style.FP16: FP16.bias, Style.TF32: BF16.bias}
    floats: dict[int, tuple[Format, int]] = {
        _code(StyleCode.of(style)): (Unpacked(11, 5 if style is Style.FP16 else 8, each), 0)
        for style, each in bias.items()
    }
    return floats | {_code(StyleCode.INT8): (Integer(20, sign_and_magnitude=True, magnitude_bits=11), 0)}


def _of_dst(_: Any) -> Choices:
    """Return the formats of a word of Dst, by the style's code and ``dst32``."""
    return {
        _code(StyleCode.of(style)) << 1 | wide: (dst_number(style, dst32=bool(wide)), 0)
        for style in Style
        for wide in (0, 1)
    }


SELECTED = (
    Selected(r"(.*payload)\.elements\[\d+\]", (r"\1.control.source",), "", lambda _: _listed(BF16, FP16), 16),
    Selected(r"(.*)\.(?:elements\[\d+\]|code)", (r"\1.format",), "", _of_config),
    Selected(r"word\.elements", ("format",), "element", _of_map, 32, count=4, slices=(4, 8)),
    Selected(r"(|.*__)code", (r"\1is_fp8", r"\1format"), "float", _of_decode),
    Selected(r"(|.*__)code", (r"\1format",), "", _of_config),
    Selected(
        r"(.*)\.([xy])",
        (r"\1.control.mode", r"\1.control.\2_format"),
        "element",
        _of_lane,
        LANE_OPERAND_BITS,
        count=DEPTH,
        slices=(16, 8),
    ),
    Selected(r"(.*)\.datums", (r"\1.control.l1_format",), "datum", _of_datum, count=16, slices=L1_BITS),
    Selected(r"(.*)\.src_[ab]\[\d+\]", (r"\1.control.style",), "operand", _of_operand, 20),
    Selected(r"(.*)\.dst", (r"\1.control.style", r"\1.control.dst32"), "Dst", _of_dst, 32),
)
"""Rules for selected codes; the first match wins."""
