"""How a viewer displays a signal: its number format, or the formats among which the bits above its code select."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bitpath.golden.formats.catalogue import FloatFormat, Specials
from bitpath.sim.engine.numbers import filter as process
from bitpath.verif.kit.values import Integer, Number


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
