"""A component for tests of the runner: adds two numbers, one register behind a stream."""

import json
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

from amaranth import Module
from amaranth.back import verilog
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from bitpath.rtl.common.config import digest

BIAS = 0
"""Added to every sum; tests of the cache edit it."""


@dataclass(frozen=True, kw_only=True)
class ToyConfig:
    """Width of the operands in bits."""

    width: int = 8


class Adder(wiring.Component):
    """``o.sum = i.a + i.b``, one cycle later."""

    def __init__(self, config: ToyConfig):
        operands = data.StructLayout({"a": config.width, "b": config.width})
        super().__init__(
            {
                "i": In(stream.Signature(operands)),
                "o": Out(stream.Signature(data.StructLayout({"sum": config.width + 1}))),
            }
        )

    def elaborate(self, platform):
        m = Module()
        with m.If(self.o.ready | ~self.o.valid):
            m.d.comb += self.i.ready.eq(1)
            m.d.sync += [self.o.valid.eq(self.i.valid), self.o.p.sum.eq(self.i.p.a + self.i.p.b + BIAS)]
        return m


def emit(unit, config, out: Path):
    """Like ``bitpath.rtl.emit.emit``; counts its calls beside the build folder."""
    top = f"{unit}_{digest(unit, config)}"
    file = out / f"{top}.v"
    file.write_text(verilog.convert(Adder(config), name=top, emit_src=False))
    (out / "manifest.json").write_text(json.dumps({"top": top}))
    return SimpleNamespace(top=top, files=(file,), no_inline=())
