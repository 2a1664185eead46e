"""Rates of AIE-ML v2's multiplier, computed from the modes' lanes, depths and issue intervals."""

from bitpath.golden.aie_ml_v2.declarations.modes import MODES, MULTIPLIERS, TIMINGS
from bitpath.golden.aie_ml_v2.matmul.cycles import macs_per_cycle
from bitpath.golden.formats.rates import Rate
from bitpath.golden.formats.sources import documented

_TABLE = documented("AM027, Table 7")
_FIGURES = {
    "int8": "512",
    "int16": "128",
    "int16_64": "128",
    "int32x16": "64",
    "float16": "256",
    "float8": "512",
    "mx6": "1024",
    "mx9": "512",
}
"""Table 7's multiply-accumulates a cycle."""


def rates_table() -> tuple[Rate, ...]:
    """Return the declared numbers, then the multiply-accumulates a cycle of every mode beside the vendor's."""
    rows = [
        Rate(
            quantity="multipliers of 9 by 5 bits",
            value=MULTIPLIERS,
            unit="multipliers",
            source=documented("AM027, as UG1639 counts them"),
        )
    ]
    for name, mode in MODES.items():
        interval = TIMINGS[mode.datapath].issue_interval
        rows.append(
            Rate(
                quantity=name,
                value=macs_per_cycle(name),
                unit="MACs/cycle",
                formula=f"{mode.lanes} lanes * {mode.depth} products"
                + (f" / {interval} cycles" if interval > 1 else ""),
                source=_TABLE,
                published=_FIGURES[name],
            )
        )
    return tuple(rows)
