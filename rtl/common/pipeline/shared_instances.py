"""Module bodies that a design holds many times and its Verilog once.

Amaranth does not share modules: a component used a thousand times is written out a thousand times. A component that is
placed with :func:`instantiate` becomes an ``Instance`` while Verilog is being emitted, and its body is emitted once; in
Amaranth's own simulator, which cannot run an ``Instance``, it is an ordinary submodule.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from amaranth import ClockSignal, Const, Instance, Module, ResetSignal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from bitpath.rtl.common.config import digest


def shared_module_name(cls: type[wiring.Component], args: tuple, kwargs: dict[str, Any]) -> str:
    """The module name of a body: what it is, and a digest of its parameters."""
    return f"{snake(cls.__name__)}_{digest(cls.__name__, (args, tuple(sorted(kwargs.items()))))}"


def snake(name: str) -> str:
    """``QuadMxPe`` as ``quad_mx_pe``."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


@dataclass
class Emission:
    """The platform under which Verilog is emitted: collects the bodies that were placed, by module name."""

    shared_modules: dict[str, wiring.Component] = field(default_factory=dict)


def instantiate(m: Module, platform: Any, name: str, cls: type[wiring.Component], *args: Any, **kwargs: Any) -> Any:
    """Add ``cls(*args, **kwargs)`` to ``m`` as submodule ``name``, and return the interface to connect it by.

    The attribute ``clocked = False`` says that a component holds no state: its body has no clock. ``apart`` says whether a
    simulator had better compile it by itself; without it, that is so of the clocked bodies.
    """
    if not isinstance(platform, Emission):
        component = cls(*args, **kwargs)
        m.submodules[name] = component
        return component
    body = _body(platform, cls, args, kwargs)
    interface = platform.shared_modules[body].signature.create(path=(name,))
    values = {path: value for path, _, value in interface.signature.flatten(interface)}
    _instance(m, platform, name, body, values)
    return interface


def instantiate_on(
    m: Module, platform: Any, name: str, values: Mapping[str, Any], cls: type[wiring.Component], *args: Any
) -> None:
    """As :func:`instantiate`, with the members connected to ``values`` at once: no signals of their own stand between, which for
    wide ones is most of the work of emission. An input's value may be a constant, an output's is a signal or a part of one."""
    if isinstance(platform, Emission):
        _instance(m, platform, name, _body(platform, cls, args, {}), {(key,): value for key, value in values.items()})
        return
    component = instantiate(m, platform, name, cls, *args)
    for key, value in values.items():
        port, outside = Value.cast(getattr(component, key)), Value.cast(value)
        m.d.comb += port.eq(outside) if component.signature.members[key].flow is In else outside.eq(port)


def _body(platform: Emission, cls: type[wiring.Component], args: tuple, kwargs: dict[str, Any]) -> str:
    body = shared_module_name(cls, args, kwargs)
    if body not in platform.shared_modules:
        platform.shared_modules[body] = cls(*args, **kwargs)
    return body


def _instance(m: Module, platform: Emission, name: str, body: str, values: Mapping[tuple, Any]) -> None:
    component = platform.shared_modules[body]
    ports = {}
    for path, member, own in component.signature.flatten(component):
        value, port = Value.cast(values[path]), "__".join(map(str, path))
        # Verilog has no port of no bits; nor is the valid of an always valid stream one.
        if isinstance(own, Const) or not len(value):
            continue
        if member.flow is not In and isinstance(value, Const):
            raise ValueError(f"{name}: the output {port} would drive a constant")
        ports[f"{'i' if member.flow is In else 'o'}_{port}"] = value
    if getattr(component, "clocked", True):
        ports |= {"i_clk": ClockSignal(), "i_rst": ResetSignal()}
    m.submodules[name] = Instance(body, **ports)
