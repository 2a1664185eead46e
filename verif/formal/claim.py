# amaranth: UnusedElaboratable=no
"""Statement of a property: components under test, free inputs, assumptions and assertions."""

from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

from amaranth import Cat, ClockDomain, Const, Module, Signal, Value
from amaranth.hdl import Assert, Assume, Fragment
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from bitpath.rtl.common.pipeline.pipeline_registers import PipelineRegisters

FLAG = "flag"
"""Name of a submodule that records an event beside a pipeline; no result depends on it."""


class Claim:
    """Statement of a property over free inputs: assumptions, and conditions to prove.

    Attributes
    ----------
    m : the module that holds the statement; its clock has no reset, registers start at their initial values.
    inputs : free inputs by name; each may have any value in any cycle.
    """

    def __init__(self) -> None:
        self.m = Module()
        self.inputs: dict[str, Value] = {}
        self._fragments: dict[str, Fragment] = {}
        self._clock = ClockDomain("sync", reset_less=True)
        self._assumed: list[Value] = []
        self._ensured: list[Value] = []
        self.m.domains += self._clock

    def free(self, name: str, shape: Any) -> Any:
        """Add an input that may have any value in any cycle."""
        signal = Signal(shape, name=name)
        self.inputs[name] = Value.cast(signal)
        return signal

    def instantiate(
        self, name: str, component: wiring.Component, *, wires: bool = False, beside: str = "", **connections: Any
    ) -> Any:
        """Add a component; its inputs are connected as the keywords say, by their paths joined with ``__``, or are free.

        Parameters
        ----------
        wires : whether its pipeline registers are wires, which makes a pipeline combinational; ValueError where a register is left
            outside its submodule ``flag``, which stands beside a pipeline, and is not the one that ``beside`` names.
        """
        if wires:
            with patch.object(PipelineRegisters, "hold", lambda self, step, **values: list(values.values())):
                fragment = Fragment.get(component, None)
            if any(register.name != beside for register in _registers(fragment, FLAG)):
                raise ValueError(f"{name} has registers that are none of its pipeline registers")
        else:
            fragment = Fragment.get(component, None)
        self._fragments[name] = fragment
        self.m.submodules[name] = fragment
        for path, member, value in component.signature.flatten(component):
            port = "__".join(map(str, path))
            if port in connections:
                self.m.d.comb += Value.cast(value).eq(connections.pop(port))
            elif member.flow is In and not isinstance(value, Const) and len(Value.cast(value)):
                self.inputs[f"{name}__{port}"] = Value.cast(value)
        if connections:
            raise ValueError(f"{name} has no input {', '.join(connections)}")
        return component

    def inside(self, component: str, signal: str) -> Signal:
        """Return a signal that a component, or a submodule such as ``dut.sender``, drives; inductions need it for their
        invariants."""
        name, *inner = component.split(".")
        fragment = self._fragments[name]
        for step in inner:
            fragment = fragment.find_subfragment(step)
        driven = (each for group in fragment.statements.values() for line in group for each in line._lhs_signals())
        return next(each for each in driven if each.name == signal)

    def registers(self, name: str) -> list[Signal]:
        """Return all registers of a component."""
        return list(_registers(self._fragments[name]))

    def assume(self, *conditions: Any) -> None:
        """Restrict the inputs to those for which the conditions hold."""
        self._assumed += map(Value.cast, conditions)

    def ensure(self, *conditions: Any) -> None:
        """Claim that the conditions hold."""
        self._ensured += map(Value.cast, conditions)

    def value(self, value: Any, name: str, shape: Any = None) -> Signal:
        """Return a signal with the value, truncated or extended to a shape if one is given."""
        signal = Signal(Value.cast(value).shape() if shape is None else shape, name=name)
        self.m.d.comb += Value.cast(signal).eq(value)
        return signal

    def register(self, value: Any, name: str, init: int = 0) -> Signal:
        """Return the value one cycle ago."""
        signal = Signal(Value.cast(value).shape(), name=name, init=init)
        self.m.d.sync += signal.eq(value)
        return signal

    def finish(self, *, asserted: bool) -> tuple[Module, dict[str, Value]]:
        """Return the module and its ports by name.

        Parameters
        ----------
        asserted : state the property as an assertion and an assumption, beside the outputs ``ok`` and ``assume``.
        """
        if not self._ensured:
            raise ValueError("a property ensures nothing")
        ok, assume = Signal(name="ok"), Signal(name="assume")
        self.m.d.comb += [ok.eq(_all(self._ensured)), assume.eq(_all(self._assumed))]
        if asserted:
            self.m.d.comb += [Assume(assume), Assert(ok)]
        return self.m, {"clk": self._clock.clk, **self.inputs, "ok": ok, "assume": assume}


def _registers(fragment: Fragment, without: str = "") -> Iterator[Signal]:
    """All, but for those of submodules of a name."""
    for domain, statements in fragment.statements.items():
        if domain != "comb":
            yield from statements._lhs_signals()
    for inner, name, *_ in fragment.subfragments:
        if not without or name != without:
            yield from _registers(inner, without)


def _all(conditions: list[Value]) -> Value:
    return Cat(condition.bool() for condition in conditions).all()
