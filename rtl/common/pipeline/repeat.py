"""Many instances of one component, in nested groups.

One module with an instance for each column would make the Verilog grow with the columns. Here each group is a module of a
few smaller groups, so the Verilog grows with the logarithm of the columns.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from amaranth import Module, Shape, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.rtl.common.pipeline.shared_instances import instantiate_on, snake

FAN_OUT = 4
"""Instances in a module. With two, half of the Verilog of a wide array would be ports."""


def repeat(
    m: Module,
    platform: Any,
    name: str,
    values: Mapping[str, Any],
    cls: type[wiring.Component],
    args: tuple,
    count: int,
    *,
    spread: tuple[str, ...],
    chained: tuple[tuple[str, str], ...] = (),
) -> None:
    """Instantiate ``count`` components, through :class:`Repeat` if there are several, with their members on ``values``."""
    if count == 1:
        instantiate_on(m, platform, name, values, cls, *args)
    else:
        instantiate_on(m, platform, name, values, Repeat, cls, args, count, spread, chained)


class Elements(NamedTuple):
    """The components of a :class:`Repeat`, by its parameters."""

    cls: type[wiring.Component]
    args: tuple
    count: int
    spread: tuple[str, ...]
    chained: tuple[tuple[str, str], ...]


class Repeat(wiring.Component):
    """``count`` components ``cls(*args)`` side by side; the first one's words are lowest.

    Parameters
    ----------
    cls, args : component; ``cls.ports(*args)`` are the members of ``cls(*args)``.
    count : number of components; each level of groups divides it by :data:`FAN_OUT` while it is a multiple.
    spread : members that have a word for each component.
    chained : pairs (input, output); a component's input is the output of its predecessor.

    Members
    -------
    Those of the component. Members in ``spread`` have ``count`` words; other inputs outside ``chained`` go to all.
    """

    apart = False
    """A module of wires alone simulates faster inlined."""

    def __init__(
        self,
        cls: type[wiring.Component],
        args: tuple,
        count: int,
        spread: tuple[str, ...],
        chained: tuple[tuple[str, str], ...] = (),
    ):
        self.elements = Elements(cls, args, count, spread, chained)
        self._ports = cls.ports(*args)
        self.clocked = getattr(cls, "clocked", True)
        super().__init__({name: self._member(name) for name in self._ports})

    def _member(self, name: str) -> wiring.Member:
        member = self._ports[name]
        if name not in self.elements.spread:
            return member
        return (In if member.flow is In else Out)(self._width(name) * self.elements.count)

    def _width(self, name: str) -> int:
        return Shape.cast(self._ports[name].shape).width

    def elaborate(self, platform):
        m = Module()
        cls, args, count, spread, chained = self.elements
        size = count // FAN_OUT if count > FAN_OUT and count % FAN_OUT == 0 else 1
        kind = snake(cls.__name__)
        values = {name: Value.cast(getattr(self, name)) for name in self._ports}
        for first in range(0, count, size):
            last = first + size == count
            name = f"{kind}_{first}" if size == 1 else f"{kind}s_{first}"
            for _, out in chained:
                values[out] = getattr(self, out) if last else Signal.like(getattr(self, out), name=f"{out}_{first}")
            own = {each: self._part(each, first, size) for each in spread}
            repeat(m, platform, name, values | own, cls, args, size, spread=spread, chained=chained)
            values |= {into: values[out] for into, out in chained}
        return m

    def _part(self, name: str, first: int, size: int) -> Value:
        """The words of a spread member that belong to ``size`` components from ``first`` on."""
        width = self._width(name)
        return getattr(self, name)[first * width : (first + size) * width]
