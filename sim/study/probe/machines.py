"""The units of each machine that probes look at."""

from collections.abc import Sequence

from bitpath.golden.arrays.arguments import check_choice
from bitpath.sim.study.probe.aie_ml_v2 import VECTOR_UNITS
from bitpath.sim.study.probe.tensix import MATRIX_UNIT
from bitpath.sim.study.probe.trainium3 import MATMUL, MX_MATMUL, QUANTIZE
from bitpath.sim.study.probe.unit import Operation, Unit

UNITS: dict[str, Sequence[Unit]] = {
    "trainium3": (MX_MATMUL, MATMUL, QUANTIZE),
    "tensix": (MATRIX_UNIT,),
    "aie_ml_v2": VECTOR_UNITS,
}


def units_of(machine: str) -> Sequence[Unit]:
    """Return a machine's units; raise ValueError for an unknown machine."""
    return UNITS[check_choice("machine", machine, UNITS)]


def operations_of(machine: str) -> dict[str, Operation]:
    """Return a machine's operations by name."""
    return {each.name: each for unit in units_of(machine) for each in unit.operations}


def presets_of(machine: str) -> list[str]:
    """Return the names of a machine's presets."""
    return [each.name for unit in units_of(machine) for each in unit.presets]
