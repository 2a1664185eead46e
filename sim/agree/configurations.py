"""In which configuration a unit's engines are compared."""

from typing import Any

from bitpath.rtl.aie_ml_v2.config import AieEngineConfig
from bitpath.rtl.tensix.config import TensixEngineConfig
from bitpath.rtl.units import UNITS
from bitpath.sim.coverage.configurations import RUNS

_SMALLER = {"tensix_engine": TensixEngineConfig(), "aie_engine": AieEngineConfig()}
"""Coverage takes these two with more cells, so that as much happens as it wants; as gates they had better be small."""
CONFIGURATIONS: dict[str, Any] = {unit: _SMALLER.get(unit, RUNS[unit].config) for unit in UNITS}
"""By unit, every one: that of its coverage, but for the two."""
