"""The kernel library's operations by its formats: a case for each pair that the chips have, else the reason.

A pair's case has the formats of every stage as the library infers them; if an operation does not take them, those of the next
entry of `STAGES_OF`.

Ref: tt-llk 36b092e, tests/python_tests/helpers/data_format_inference.py and format_config.py.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bitpath.golden.tensix.declarations.formats import Chip
from bitpath.golden.tensix.llk.case import BINARY, QUASAR_FORMATS, Case, Op

OPERATIONS: Mapping[str, Mapping[str, Any]] = {
    "matmul": {"op": Op.MATMUL, "fidelity": "HiFi4"},
    "elwadd": {"op": Op.ELWADD},
    "elwsub": {"op": Op.ELWSUB},
    "elwmul": {"op": Op.ELWMUL, "fidelity": "HiFi4"},
    "reduce SUM": {"op": Op.REDUCE, "pool": "SUM", "fidelity": "HiFi4"},
    "reduce AVG": {"op": Op.REDUCE, "pool": "AVG", "fidelity": "HiFi4"},
    "reduce MAX": {"op": Op.REDUCE, "pool": "MAX"},
    "reduce MIN": {"op": Op.REDUCE, "pool": "MIN"},
    "reduce_block_max": {"op": Op.REDUCE_BLOCK_MAX},
    "datacopy": {"op": Op.DATACOPY},
    "unary_broadcast": {"op": Op.UNARY_BROADCAST, "broadcast": "COL"},
    "transpose": {"op": Op.TRANSPOSE},
    "tilize": {"op": Op.TILIZE},
    "untilize": {"op": Op.UNTILIZE},
    "pack_untilize": {"op": Op.PACK_UNTILIZE},
    "pack_rows": {"op": Op.PACK_ROWS},
}
"""Operations by name, with the fields of their cases; four phases multiply integers whole."""

STAGES_OF: Mapping[str, tuple[tuple[str, str, str, bool], ...]] = {
    "Float32": (("FP32", "FP32", "FP32", True), ("TF32", "FP32", "FP32", True)),
    "Tf32": (("TF32", "TF32", "TF32", True),),
    "Float16_b": (("BF16", "BF16", "BF16", False),),
    "Float16": (("FP16", "FP16", "FP16", False),),
    "Bfp8_b": (("BFP8", "BFP8", "BFP8", False), ("BFP8", "BF16", "BF16", False)),
    "Bfp4_b": (("BF16", "BF16", "BFP4", False), ("BF16", "BF16", "BF16", False)),
    "Bfp2_b": (("BF16", "BF16", "BFP2", False), ("BF16", "BF16", "BF16", False)),
    "Bfp8": (("BFP8A", "BFP8A", "BFP8A", False), ("BFP8A", "FP16", "FP16", False)),
    "Bfp4": (("FP16", "FP16", "BFP4A", False), ("FP16", "FP16", "FP16", False)),
    "Bfp2": (("FP16", "FP16", "BFP2A", False), ("FP16", "FP16", "FP16", False)),
    "Lf8": (("FP8", "FP16", "FP8", False),),
    "Fp8_e4m3": (("FP8", "FP16", "Fp8_e4m3", False),),
    "Int32": (("INT32", "INT32", "INT32", True),),
    "UInt32": (("INT32", "INT32", "UInt32", True),),
    "Int16": (("INT16", "INT16", "INT16", False),),
    "UInt16": (("INT16", "INT16", "UInt16", False),),
    "Int8": (("INT8", "INT8", "INT8", True),),
    "UInt8": (("INT8", "INT8", "UInt8", True),),
    **dict.fromkeys(QUASAR_FORMATS, (("BF16", "BF16", "BF16", False),)),
}
"""Register, intermediate and result format, and whether Dst has 32 bits, by the library's name of the operands' format."""


@dataclass(frozen=True, kw_only=True)
class Cell:
    """An operation in a format.

    Attributes
    ----------
    operation, format : names of `OPERATIONS` and of `STAGES_OF`.
    case : a case of it on one tile, of Wormhole where it has one; None if neither chip has it.
    chips : chips that have it.
    reason : why a chip lacks it; empty if both have it.
    """

    operation: str
    format: str
    case: Case | None
    chips: tuple[Chip, ...]
    reason: str


def grid() -> tuple[Cell, ...]:
    """Return the cells of all operations and formats, operation by operation."""
    return tuple(_cell(operation, fmt) for operation in OPERATIONS for fmt in STAGES_OF)


def _cell(operation: str, fmt: str) -> Cell:
    if operation == "reduce MIN":
        return Cell(operation=operation, format=fmt, case=None, chips=(), reason=NO_MINIMUM)
    found, reason = {}, ""
    for chip in Chip:
        for register, mid, out, dst32 in STAGES_OF[fmt]:
            own = dict(OPERATIONS[operation]) | {"chip": chip, "dst32": dst32}
            own |= {"in_a": fmt, "register_format": register, "mid_format": mid, "out_format": out}
            if own["op"] in BINARY:
                own["in_b"] = fmt
            try:
                found[chip] = Case(**own)
                break
            except ValueError as error:
                reason = str(error).rpartition(": ")[2]
    missing = len(found) < len(Chip)
    case = next(iter(found.values()), None)
    return Cell(operation=operation, format=fmt, case=case, chips=tuple(found), reason=reason if missing else "")


NO_MINIMUM = "GMPOOL has maxima alone, and the library's minimum is the Vector unit's"
