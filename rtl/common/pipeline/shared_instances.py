"""Shared modules: components that a design instantiates many times and its Verilog defines once.

Amaranth does not share modules: it writes a component out for every use. :func:`instantiate` makes an ``Instance`` of one
shared module while Verilog is emitted. In Amaranth's simulator, which cannot run an ``Instance``, it adds a submodule.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from inspect import signature
from typing import Any

from amaranth import ClockSignal, Const, Instance, Module, ResetSignal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from bitpath.rtl.common.config import digest


def shared_module_name(cls: type[wiring.Component], args: tuple, kwargs: dict[str, Any]) -> str:
    """Return the Verilog name of a shared module: its class and a digest of its parameters."""
    return f"{snake(cls.__name__)}_{digest(cls.__name__, (args, tuple(sorted(kwargs.items()))))}"


def snake(name: str) -> str:
    """Convert a class name to snake case: ``QuadMxPe`` to ``quad_mx_pe``."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


@dataclass
class Emission:
    """The platform of Verilog emission; collects the shared modules by name, each with ``prefix`` before it."""

    prefix: str = ""
    shared_modules: dict[str, wiring.Component] = field(default_factory=dict)


def instantiate(m: Module, platform: Any, name: str, cls: type[wiring.Component], *args: Any, **kwargs: Any) -> Any:
    """Add ``cls(*args, **kwargs)`` to ``m`` as submodule ``name``, and return its interface.

    A class attribute ``clocked = False`` marks a component without state, whose module gets no clock. ``apart`` tells
    whether a simulator compiles the module separately; its default is ``clocked``.
    """
    if not isinstance(platform, Emission):
        component = cls(*args, **kwargs)
        m.submodules[name] = component
        return component
    module = _shared_module(platform, cls, args, kwargs)
    interface = platform.shared_modules[module].signature.create(path=(name,))
    values = {path: value for path, _, value in interface.signature.flatten(interface)}
    _instance(m, platform, name, module, values)
    return interface


def instantiate_on(
    m: Module, platform: Any, name: str, values: Mapping[str, Any], cls: type[wiring.Component], *args: Any
) -> None:
    """:func:`instantiate` with the members connected to ``values`` directly, which saves most of the emission time of wide
    members. An input's value may be a constant; an output's must be a signal or a part of one."""
    if isinstance(platform, Emission):
        module = _shared_module(platform, cls, args, {})
        _instance(m, platform, name, module, {(key,): value for key, value in values.items()})
        return
    component = instantiate(m, platform, name, cls, *args)
    for key, value in values.items():
        port, outside = Value.cast(getattr(component, key)), Value.cast(value)
        m.d.comb += port.eq(outside) if component.signature.members[key].flow is In else outside.eq(port)


def _shared_module(platform: Emission, cls: type[wiring.Component], args: tuple, kwargs: dict[str, Any]) -> str:
    parameters = signature(cls).parameters
    # A default that is written out makes no second module.
    kwargs = {name: value for name, value in kwargs.items() if value != parameters[name].default}
    module = platform.prefix + shared_module_name(cls, args, kwargs)
    if module not in platform.shared_modules:
        platform.shared_modules[module] = cls(*args, **kwargs)
    return module


def _instance(m: Module, platform: Emission, name: str, module: str, values: Mapping[tuple, Any]) -> None:
    component = platform.shared_modules[module]
    ports = {}
    for path, member, own in component.signature.flatten(component):
        value, port = Value.cast(values[path]), "__".join(map(str, path))
        # Verilog has no zero-width ports, and the valid of an always valid stream is a constant.
        if isinstance(own, Const) or not len(value):
            continue
        if member.flow is not In and isinstance(value, Const):
            raise ValueError(f"{name}: output {port} must drive a signal, not a constant")
        ports[f"{'i' if member.flow is In else 'o'}_{port}"] = value
    if getattr(component, "clocked", True):
        ports |= {"i_clk": ClockSignal(), "i_rst": ResetSignal()}
    m.submodules[name] = Instance(module, **ports)
