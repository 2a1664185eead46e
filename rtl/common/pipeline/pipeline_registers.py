"""Pipeline registers with one stall: all of them hold while the result waits."""

from collections.abc import Collection

from amaranth import Module, Signal, Value


class PipelineRegisters:
    """Pipeline registers of one datapath, created in the order in which data passes them.

    Data registers have no reset; valid bits do. ``advance = ready | ~valid`` of the last stage, so throughput is one beat
    a cycle, and a stall holds the whole pipeline.

    Parameters
    ----------
    m : module that takes the registers.
    steps : names of the steps that end in a register; other steps are wires.
    valid, ready : valid of the pipeline's input, ready of its output.

    Attributes
    ----------
    valid : valid behind the registers created so far.
    advance : clock enable of all registers; :meth:`finish` drives it.
    """

    def __init__(self, m: Module, steps: Collection[str], *, valid: Value, ready: Value):
        self._m, self._steps, self._ready = m, steps, ready
        self.valid = valid
        self.advance = Signal()

    def hold(self, step: str, **values: Value) -> list[Value]:
        """Return the values behind the step's register, or the values themselves if the step has none."""
        if step not in self._steps:
            return list(values.values())
        held_valid = Signal(name=f"{step}_valid")
        held = {name: Signal.like(value, name=f"{step}_{name}", reset_less=True) for name, value in values.items()}
        with self._m.If(self.advance):
            self._m.d.sync += [held_valid.eq(self.valid), *(held[name].eq(value) for name, value in values.items())]
        self.valid = held_valid
        return list(held.values())

    def finish(self) -> Value:
        """Drive ``advance`` after the last register; return ready of the pipeline's input."""
        self._m.d.comb += self.advance.eq(self._ready | ~self.valid)
        return self.advance if self._steps else self._ready
