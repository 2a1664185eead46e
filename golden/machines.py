"""One record for each machine: its matmul and the explanation of it, the formats of it by name, and its numerics by name.

A format name belongs to one machine, so that it says alone which machine computes.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import cached_property, partial
from typing import Any

import numpy as np

from bitpath.golden import aie_ml_v2, tensix, trainium3
from bitpath.golden.aie_ml_v2.declarations import numerics as aie_ml_v2_numerics
from bitpath.golden.aie_ml_v2.declarations.modes import INTEGER_MODES
from bitpath.golden.aie_ml_v2.matmul import cycles as aie_ml_v2_cycles
from bitpath.golden.aie_ml_v2.matmul import explain as aie_ml_v2_explain
from bitpath.golden.aie_ml_v2.matmul.matmul import FORMATS as AIE_ML_V2_FORMATS
from bitpath.golden.aie_ml_v2.matmul.matmul import dequantize_rows, mode_of, quantize_rows
from bitpath.golden.arrays.arguments import check_choice, check_instance, suggestion
from bitpath.golden.arrays.codec import DTYPES, decode_array, encode_array
from bitpath.golden.explain.explanation import Explanation
from bitpath.golden.formats.catalogue import BF16, FP32, MX_FORMATS, TF32
from bitpath.golden.formats.sources import Preset, Rate
from bitpath.golden.tensix.convert import mx as tensix_mx
from bitpath.golden.tensix.declarations import numerics as tensix_numerics
from bitpath.golden.tensix.declarations.formats import FIDELITY_PHASES, Fidelity
from bitpath.golden.tensix.declarations.quasar import MX_FORMATS as QUASAR_FORMATS
from bitpath.golden.tensix.matmul import cycles as tensix_cycles
from bitpath.golden.tensix.matmul import explain as tensix_explain
from bitpath.golden.tensix.matmul import host
from bitpath.golden.tensix.matmul.host import FORMATS as TENSIX_FORMATS
from bitpath.golden.tensix.matmul.matmul import MACS_PER_MVMUL
from bitpath.golden.tensix.operands.arguments import numerics_or_default
from bitpath.golden.trainium3.declarations import quad_mx
from bitpath.golden.trainium3.declarations.tensor import PATTERNS, TRAINIUM3_DOUBLE_ROW
from bitpath.golden.trainium3.declarations.vector import TRAINIUM2_BF16_PRODUCTS, TRAINIUM3_MATMUL
from bitpath.golden.trainium3.matmul import explain as trainium3_explain
from bitpath.golden.trainium3.matmul.matmul import dequantize_columns, quantize_columns
from bitpath.golden.trainium3.operands.cast import cast
from bitpath.golden.trainium3.tensor.modes import DENSE, DOUBLE_ROW, MODES, SPARSE, pruned
from bitpath.golden.trainium3.vector import rates as trainium3_rates


@dataclass(frozen=True)
class Conversion:
    """The conversion of one format.

    Attributes
    ----------
    quantize : converts float32 rows [R, K], with further options, to what the machine's own functions give.
    dequantize : returns its numbers, float32 [R, K]: (data, (R, K)), with numerics where the machine has them.
    """

    quantize: Callable[..., Any]
    dequantize: Callable[..., np.ndarray]


@dataclass(frozen=True, kw_only=True)
class Machine:
    """A machine's matmul, its formats and its numerics.

    Attributes
    ----------
    name : as Python, the command line and reports have it.
    matmul : the machine's own function, of operands [M, K] and [K, N].
    prepare : converts right operands [B, K, N], with `matmul`'s arguments.
    multiply : multiplies left operands [B, M, K] by what `prepare` gave; returns [B, M, N].
    numbers : returns the numbers that the conversion of `matmul` leaves of an operand, float32 of its shape: of "a" [..., M, K] or
        "b" [..., K, N], with `matmul`'s arguments.
    macs_per_cycle : multiply-accumulates a cycle of a format, by its name, that nothing holds back.
    formats : format names, each with the arguments of `matmul` that it stands for.
    explain : explains one output of `matmul`: (a, b, output, step, **arguments); None of formats without an explanation.
    integers : names of the formats whose operands are integers; all others take float32.
    conversions : the conversion of each format of blocks or floats by its name; more than those of `matmul` on tensix.
    presets : numerics by name, the default one first.
    rates : returns the machine's rates, declared and computed.
    """

    name: str
    matmul: Callable[..., np.ndarray]
    prepare: Callable[..., Any]
    multiply: Callable[..., np.ndarray]
    numbers: Callable[..., np.ndarray]
    macs_per_cycle: Callable[[str], float]
    explain: Callable[..., Explanation] | None
    formats: Mapping[str, Mapping[str, Any]]
    integers: frozenset[str]
    conversions: Mapping[str, Conversion]
    presets: Mapping[str, Preset]
    rates: Callable[[], Sequence[Rate]]

    @cached_property
    def options(self) -> tuple[str, ...]:
        """Names of the further arguments of `matmul`, which no format name stands for."""
        named = {name for arguments in self.formats.values() for name in arguments}
        parameters = inspect.signature(self.matmul).parameters
        return tuple(each for each in parameters if each not in named | {"a", "b", "numerics", "progress"})


def _of_rows(quantize: Callable[..., Any], dequantize: Callable[..., np.ndarray], x: np.ndarray) -> np.ndarray:
    """Return what a conversion leaves of numbers [..., R, K] whose blocks run along K."""
    rows = np.ascontiguousarray(x.reshape(-1, x.shape[-1]))
    return dequantize(quantize(rows), rows.shape).reshape(x.shape)


def _along_k(
    quantize: Callable[..., Any], dequantize: Callable[..., np.ndarray], side: str, x: np.ndarray
) -> np.ndarray:
    """Return what a conversion leaves of an operand whose blocks run along K."""
    if side == "a":
        return _of_rows(quantize, dequantize, x)
    return _of_rows(quantize, dequantize, x.swapaxes(-1, -2)).swapaxes(-1, -2)


def _trainium3_numbers(
    side: str, x: np.ndarray, *, a_format: str, b_format: str, numerics: Any = None, **options: Any
) -> np.ndarray:
    order = {name: each for name, each in options.items() if name == "k_order"}
    quantize = partial(quantize_columns, format_name=a_format if side == "a" else b_format, **options)
    return _along_k(quantize, partial(dequantize_columns, **order), side, x)


def _tensix_numbers(
    side: str, x: np.ndarray, *, format: str, numerics: Any = None, chip: Any = None, **_: Any
) -> np.ndarray:
    own: dict[str, Any] = {"format": format, "numerics": numerics_or_default(numerics, chip)}
    # Blocks run along rows on both sides: of the right operand along N.
    return _of_rows(partial(host.quantize_rows, **own), partial(host.dequantize_rows, **own), x)


def _tensix_rate(name: str) -> float:
    return MACS_PER_MVMUL / len(FIDELITY_PHASES[Fidelity[name.rpartition("_")[2].upper()]])


def _aie_ml_v2_numbers(
    side: str, x: np.ndarray, *, format: str, numerics: Any = None, sparse: bool = False, **options: Any
) -> np.ndarray:
    quantize = partial(quantize_rows, format=format, numerics=numerics, **options)
    return _along_k(quantize, partial(dequantize_rows, numerics=numerics), side, x)


TRAINIUM3 = Machine(
    name="trainium3",
    matmul=trainium3.matmul,
    prepare=trainium3.prepare,
    multiply=trainium3.multiply,
    numbers=_trainium3_numbers,
    macs_per_cycle=lambda _: quad_mx.PARTITIONS * quad_mx.MAX_STATIONARY * quad_mx.X4,
    explain=trainium3_explain.explain_output,
    # The vendor documents FP8 as QuantizeMX's result, so with "mxfp4" the weights alone have FP4.
    formats={
        "mxfp8_e4m3": {"a_format": "mxfp8_e4m3", "b_format": "mxfp8_e4m3"},
        "mxfp8_e5m2": {"a_format": "mxfp8_e5m2", "b_format": "mxfp8_e5m2"},
        "mxfp4": {"a_format": "mxfp8_e4m3", "b_format": "mxfp4"},
    },
    integers=frozenset(),
    conversions={
        name: Conversion(partial(quantize_columns, format_name=name), dequantize_columns) for name in MX_FORMATS
    },
    presets=quad_mx.PRESETS,
    rates=trainium3_rates.rates_table,
)
TENSIX = Machine(
    name="tensix",
    matmul=tensix.matmul,
    prepare=tensix.prepare,
    multiply=tensix.multiply,
    numbers=_tensix_numbers,
    macs_per_cycle=_tensix_rate,
    explain=tensix_explain.explain_output,
    formats={
        f"{element}_{fidelity.value.lower()}": {"format": element, "fidelity": fidelity}
        for element in TENSIX_FORMATS
        for fidelity in Fidelity
    },
    integers=frozenset(f"int8_{fidelity.value.lower()}" for fidelity in Fidelity),
    conversions={
        f"{element}_{fidelity.value.lower()}": Conversion(
            partial(host.quantize_rows, format=element), partial(host.dequantize_rows, format=element)
        )
        for element in TENSIX_FORMATS
        if element != "int8"
        for fidelity in Fidelity
    }
    | {
        name: Conversion(partial(tensix_mx.quantize_rows, format=name), partial(tensix_mx.dequantize_rows, format=name))
        for name in QUASAR_FORMATS
    },
    presets=tensix_numerics.PRESETS,
    rates=tensix_cycles.rates_table,
)
AIE_ML_V2 = Machine(
    name="aie_ml_v2",
    matmul=aie_ml_v2.matmul,
    prepare=aie_ml_v2.prepare,
    multiply=aie_ml_v2.multiply,
    numbers=_aie_ml_v2_numbers,
    macs_per_cycle=lambda name: aie_ml_v2.macs_per_cycle(mode_of(name).name),
    explain=aie_ml_v2_explain.explain_output,
    formats={name: {"format": name} for name in AIE_ML_V2_FORMATS},
    integers=frozenset(INTEGER_MODES),
    conversions={
        name: Conversion(partial(quantize_rows, format=name), dequantize_rows)
        for name in AIE_ML_V2_FORMATS
        if name not in INTEGER_MODES
    },
    presets=aie_ml_v2_numerics.PRESETS,
    rates=aie_ml_v2_cycles.rates_table,
)
MACHINES = {each.name: each for each in (TRAINIUM3, TENSIX, AIE_ML_V2)}


def _mode_numbers(side: str, x: np.ndarray, *, mode: str, numerics: Any = None) -> np.ndarray:
    if mode in SPARSE and side == "b":
        return np.stack([pruned(each, mode) for each in x.reshape(-1, *x.shape[-2:])]).reshape(x.shape)
    if mode == "tf32":
        codes = np.ascontiguousarray(x).view(np.uint32)
        return decode_array(TF32, encode_array(TF32, decode_array(FP32, codes))).astype(np.float32)
    return cast(x, DTYPES[BF16] if mode in SPARSE else DENSE[mode]).astype(np.float32)


def _mode_rate(mode: str) -> float:
    elements = PATTERNS[SPARSE[mode]].ratio if mode in SPARSE else 2 if mode == DOUBLE_ROW else 1
    return quad_mx.PARTITIONS * quad_mx.MAX_STATIONARY * elements / (4 if mode == "fp32" else 1)


TENSOR_MODES = Machine(
    name="trainium3",
    matmul=trainium3.matmul_mode,
    prepare=trainium3.prepare_mode,
    multiply=trainium3.multiply_mode,
    numbers=_mode_numbers,
    macs_per_cycle=_mode_rate,
    explain=None,
    formats={name: {"mode": name} for name in MODES},
    integers=frozenset(),
    conversions={},
    presets={each.name: each for each in (TRAINIUM3_MATMUL, TRAINIUM2_BF16_PRODUCTS, TRAINIUM3_DOUBLE_ROW)},
    rates=TRAINIUM3.rates,
)
"""TensorE's modes beside quad MX."""
WHOLE_INT8 = replace(
    TENSIX,
    matmul=tensix.matmul_int8,
    prepare=tensix.prepare_int8,
    multiply=tensix.multiply_int8,
    explain=None,
    formats={"int8": {"descaled": False}, "int8_descaled": {"descaled": True}},
    integers=frozenset(("int8", "int8_descaled")),
    conversions={},
    macs_per_cycle=lambda _: TENSIX.macs_per_cycle("int8_hifi4"),
)
"""Tensix' INT8 in all phases, whose sums are exact, and packed to INT8."""
FURTHER = (TENSOR_MODES, WHOLE_INT8)
"""Formats of the machines with functions of their own. Where a machine of `MACHINES` has the same name, `machine=` chooses them."""


def find_conversion(machine: str | None, format_name: str) -> tuple[Machine, Conversion]:
    """Return the machine of that name, or for None the one whose format it is, and the format's conversion.

    Raises
    ------
    TypeError, ValueError : another machine; a format of integers; a format that the machine, or every machine, lacks.
    """
    record = _find(machine, format_name, [(each, each.conversions) for each in MACHINES.values()])
    return record, record.conversions[format_name]


def find_machine(machine: str | None, format_name: str) -> Machine:
    """Return the machine of that name, or for None the one whose format it is, with the functions of the format.

    Raises
    ------
    TypeError, ValueError : another machine; a format that the machine, or every machine, lacks.
    """
    return _find(machine, format_name, [(each, each.formats) for each in (*MACHINES.values(), *FURTHER)])


NEAREST = 3
"""Formats of each machine that an error names."""


def _find(machine: str | None, format_name: str, known: Sequence[tuple[Machine, Mapping[str, Any]]]) -> Machine:
    if machine is not None:
        check_choice("machine", machine, MACHINES)
        known = [(record, formats) for record, formats in known if record.name == machine]
    check_instance("format", format_name, str)
    for record, formats in known:
        if format_name in formats:
            return record

    def distance(name: str) -> tuple[bool, float]:
        return format_name not in name, -SequenceMatcher(None, format_name, name).ratio()

    names: dict[str, list[str]] = {}
    for record, formats in known:
        names.setdefault(record.name, []).extend(formats)
    nearest = [f"{name}'s {', '.join(sorted(each, key=distance)[:NEAREST])}" for name, each in names.items()]
    close = suggestion(format_name, [each for formats in names.values() for each in formats])
    raise ValueError(f"format must be a machine's, such as {'; '.join(nearest)}; not {format_name!r}{close}")
