"""Module bodies that a design holds many times and its Verilog once.

Amaranth does not share modules: a component used a thousand times is written out a thousand times. A component that is
placed with :func:`place` becomes an ``Instance`` while Verilog is being emitted, and its body is emitted once; in
Amaranth's own simulator, which cannot run an ``Instance``, it is an ordinary submodule.
"""

import re
from dataclasses import dataclass, field
from typing import Any

from amaranth import ClockSignal, Const, Instance, Module, ResetSignal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from bitpath.rtl.config import digest


def body_name(cls: type[wiring.Component], args: tuple, kwargs: dict[str, Any]) -> str:
    """The module name of a body: what it is, and a digest of its parameters."""
    return f"{snake(cls.__name__)}_{digest(cls.__name__, (args, tuple(sorted(kwargs.items()))))}"


def snake(name: str) -> str:
    """``QuadMxPe`` as ``quad_mx_pe``."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


@dataclass
class Emission:
    """The platform under which Verilog is emitted: collects the bodies that were placed, by module name."""

    bodies: dict[str, wiring.Component] = field(default_factory=dict)


def place(m: Module, platform: Any, name: str, cls: type[wiring.Component], *args: Any, **kwargs: Any) -> Any:
    """Add ``cls(*args, **kwargs)`` to ``m`` as submodule ``name``, and return the interface to connect it by.

    The attribute ``clocked = False`` says that a component holds no state: its body has no clock. ``apart = True`` says of
    such a one that a simulator had better compile it by itself, as it does the clocked bodies.
    """
    if not isinstance(platform, Emission):
        component = cls(*args, **kwargs)
        m.submodules[name] = component
        return component
    body = body_name(cls, args, kwargs)
    if body not in platform.bodies:
        platform.bodies[body] = cls(*args, **kwargs)
    interface = platform.bodies[body].signature.create(path=(name,))
    ports = {}
    for path, member, value in interface.signature.flatten(interface):
        # Verilog has no port of no bits; nor is the valid of an always valid stream one.
        if isinstance(value, Const) or not len(Value.cast(value)):
            continue
        direction = "i" if member.flow is In else "o"
        ports[f"{direction}_{'__'.join(map(str, path))}"] = Value.cast(value)
    if getattr(platform.bodies[body], "clocked", True):
        ports |= {"i_clk": ClockSignal(), "i_rst": ResetSignal()}
    m.submodules[name] = Instance(body, **ports)
    return interface
