"""Designs to synthesise: units in the configurations that the README quotes, and their yardsticks."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from amaranth.lib import wiring

from bitpath.rtl.common.config import digest, to_dict
from bitpath.rtl.emit import verilog_text
from bitpath.rtl.units import UNITS
from bitpath.sim.study.synth.yardsticks import Yardstick

YARDSTICK = "yardstick"


@dataclass(frozen=True)
class Design:
    """A design to synthesise: a unit or a yardstick in one configuration.

    Attributes
    ----------
    name : name in the table.
    unit : name of a unit, or "yardstick".
    macs : multiply-accumulates a cycle, or 0 if not applicable.
    yardstick : design by whose area its area is divided, or None.
    """

    name: str
    unit: str
    config: Any
    macs: int = 0
    yardstick: "Design | None" = field(default=None)

    @property
    def digest(self) -> str:
        return digest(self.unit, self.config)

    @property
    def machine(self) -> str:
        if self.unit == YARDSTICK:
            return YARDSTICK
        return UNITS[self.unit].machine

    @property
    def full_config(self) -> dict[str, Any]:
        """Return the whole configuration with the unit's name, as plain JSON values."""
        return {"unit": self.unit, **to_dict(self.config)}

    def verilog(self) -> tuple[str, str]:
        """Return its Verilog and the name of the top module."""
        build: Callable[[Any], wiring.Component] = Yardstick if self.unit == YARDSTICK else UNITS[self.unit].build
        top = f"{self.unit}_{self.digest}"
        return verilog_text(build(self.config), top)[0], top


def _quoted() -> Iterator[Design]:
    """Return the units' designs, each yardstick before the first design that uses it."""
    seen: dict[Any, Design] = {}
    for unit in UNITS.values():
        for each in unit.synthesised:
            if each.yardstick not in seen:
                # A yardstick does one multiply-accumulate a cycle for each of its multipliers.
                own = Design(each.yardstick_title, YARDSTICK, each.yardstick, each.yardstick.count)
                seen[each.yardstick] = own
                yield own
            yield Design(each.title, unit.name, each.config, each.macs, seen[each.yardstick])


QUOTED = tuple(_quoted())
"""Designs that ``make synth`` synthesises by default."""
