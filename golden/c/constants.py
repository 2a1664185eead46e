"""Constants of the C reference, from the declarations: formats, enumerations, and numerics as ``#define``."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from enum import Enum, IntEnum
from typing import Any

from bitpath.golden.aie_ml_v2.declarations import codes, modes
from bitpath.golden.aie_ml_v2.declarations.codes import FloatSaturation, RoundingCode
from bitpath.golden.aie_ml_v2.declarations.numerics import PRESETS as AIE_ML_V2_PRESETS
from bitpath.golden.formats.catalogue import (
    BF16,
    E2M1,
    E3M4,
    E4M3,
    E4M3FN,
    E5M2,
    E8M0,
    FP16,
    FP32,
    TF32,
    FloatFormat,
    Rounding,
    Specials,
)
from bitpath.golden.formats.dot import ProductRounding
from bitpath.golden.formats.sources import Preset
from bitpath.golden.tensix.declarations.formats import Fidelity, Format, Style
from bitpath.golden.tensix.declarations.numerics import PRESETS as TENSIX_PRESETS
from bitpath.golden.trainium3.declarations.quad_mx import PRESETS as TRAINIUM3_PRESETS
from bitpath.golden.trainium3.declarations.quad_mx import ScaleRule
from bitpath.golden.trainium3.declarations.vector import TRAINIUM2_BF16_PRODUCTS, TRAINIUM3_MATMUL, XORWOW_INCREMENT


@dataclass(frozen=True, kw_only=True)
class Machine:
    """Parts and constants of a machine's C reference.

    Attributes
    ----------
    presets : numerics by name; the first is the default.
    parts : C files, in order.
    formats : float formats by number, for the arguments that name one.
    table : True if functions take formats by number.
    enumerations : names of integer arguments, a group each.
    others : further numerics, by the prefix of their names in C: presets by name, the first is the default.
    constants : further names.
    """

    presets: Mapping[str, Preset]
    parts: tuple[str, ...]
    formats: tuple[FloatFormat, ...]
    table: bool
    enumerations: tuple[Mapping[str, int], ...]
    others: Mapping[str, Mapping[str, Preset]]
    constants: Mapping[str, int]

    @property
    def names(self) -> list[str]:
        """All presets' names, the default one first."""
        return [name for group in (self.presets, *self.others.values()) for name in group]


def numbered(members: Iterable[Any]) -> dict[str, int]:
    """Return names by number: an IntEnum's own, else the order."""
    return {
        each if isinstance(each, str) else each.name: int(each) if isinstance(each, IntEnum) else number
        for number, each in enumerate(members)
    }


TRAINIUM3_FORMATS = (E4M3FN, E5M2, E2M1, E4M3, E3M4, BF16, FP16, TF32, FP32)
AIE_ML_V2_FORMATS = (*modes.FLOAT16_FORMATS, *modes.FLOAT8_FORMATS)
CONTROL_BITS = ("negate_products", "negate_acc1", "negate_acc2", "zero_acc1", "shift16")
"""Fields of the control word that the AIE-ML v2 functions take, a bit each."""

MACHINES = {
    "trainium3": Machine(
        presets=TRAINIUM3_PRESETS,
        parts=("floats.c", "terms.c", "trainium3.c"),
        formats=TRAINIUM3_FORMATS,
        table=True,
        enumerations=(numbered(TRAINIUM3_FORMATS), numbered(ScaleRule)),
        others={"MATMUL_": {each.name: each for each in (TRAINIUM3_MATMUL, TRAINIUM2_BF16_PRODUCTS)}},
        constants={"E8M0_BIAS": E8M0.bias, "E8M0_NAN": E8M0.nan_code, "XORWOW_INCREMENT": XORWOW_INCREMENT},
    ),
    "tensix": Machine(
        presets=TENSIX_PRESETS,
        parts=("floats.c", "tensix.c"),
        formats=(FP32, BF16, FP16, E5M2),
        table=False,
        enumerations=(
            numbered(Format),
            {f"STYLE_{name}": number for name, number in numbered(Style).items()},
            numbered(Fidelity),
        ),
        others={},
        constants={},
    ),
    "aie_ml_v2": Machine(
        presets=AIE_ML_V2_PRESETS,
        parts=("floats.c", "terms.c", "aie_ml_v2.c"),
        formats=(*AIE_ML_V2_FORMATS, FP32),
        table=True,
        enumerations=(
            numbered(AIE_ML_V2_FORMATS),
            numbered(name.upper() for name in codes.BLOCK_FORMATS),
            numbered(RoundingCode),
            {f"SATURATION_{each.name}": int(each) for each in codes.Saturation},
            {f"SATURATE_{each.name}": int(each) for each in FloatSaturation},
            {name.upper(): 1 << bit for bit, name in enumerate(CONTROL_BITS)},
        ),
        others={},
        constants={},
    ),
}
"""Machines by the names that the command line takes."""


def enumerations(machine: str) -> dict[str, int]:
    """Return the names of arguments that header and SystemVerilog package define."""
    prefix = f"BITPATH_{machine.upper()}_"
    return {prefix + name: number for each in MACHINES[machine].enumerations for name, number in each.items()}


def formats(machine: str) -> list[str]:
    """Return the C constants of a machine's float formats, and their table by number."""
    record = MACHINES[machine]
    lines = []
    for each in record.formats:
        numbers = [each.fraction_bits, each.bias, each.sign_mask, each.max_code]
        numbers += [each.infinity_code or 0, each.nan_code or 0, int(each.specials is Specials.UNSIGNED_ZERO)]
        lines.append(f"static const Format {each.name} = {{{', '.join(map(_number, numbers))}}};")
    if record.table:
        lines += [f"enum {{ FORMATS = {len(record.formats)} }};", "static const Format *const TABLE[FORMATS] = {"]
        lines += [f"    {', '.join(f'&{each.name}' for each in record.formats)}", "};"]
    return lines


def defines(machine: str, preset: str, own: Any = None) -> list[str]:
    """Return the numerics of a preset, or those given, the defaults of all others, and the machine's constants as C lines."""
    record = MACHINES[machine]
    lines = [f"#define {name} {_number(value)}" for name, value in record.constants.items()]
    for prefix, group in {"": record.presets, **record.others}.items():
        numerics = group.get(preset, next(iter(group.values()))).numerics
        if type(own) is type(numerics):
            numerics = own
        for field in fields(numerics):
            lines += _field(prefix + field.name.upper(), getattr(numerics, field.name))
    return lines


def _number(value: int) -> str:
    return str(value) if value < 1 << 10 else f"0x{value:X}u"


def _field(name: str, value: Any) -> list[str]:
    """Return a field's lines: a number (-1 for None), a rounding, a format, a member of an enumeration, or a record's fields."""
    match value:
        case tuple():
            return []
        case RoundingCode() | Rounding():
            text = value.mode.name if isinstance(value, RoundingCode) else value.name
        case Enum():
            members = ", ".join(f"{name}_{each.name}" for each in type(value))
            return [f"enum {{ {members} }};", f"#define {name} {name}_{value.name}"]
        case FloatFormat():
            text = value.name
        case ProductRounding():
            return [
                line
                for each in fields(value)
                for line in _field(f"{name}_{each.name.upper()}", getattr(value, each.name))
            ]
        case None:
            text = "(-1)"
        case _:
            text = str(int(value))
    return [f"#define {name} {text}"]
