"""Register ranks of a pipeline that stands still as a whole while its result waits."""

from collections.abc import Collection

from amaranth import Module, Signal, Value


class PipelineRegisters:
    """The ranks of one pipeline, made in the order in which data passes them.

    Parameters
    ----------
    m : the module in which they stand.
    steps : names of the steps that a rank follows; other steps pass on by wire.
    valid, ready : whether there is something at the pipeline's start, and whether its end is taken.

    Attributes
    ----------
    valid : whether there is something behind the ranks made so far.
    advance : whether the ranks move; driven by :meth:`finish`.
    """

    def __init__(self, m: Module, steps: Collection[str], *, valid: Value, ready: Value):
        self._m, self._steps, self._ready = m, steps, ready
        self.valid = valid
        self.advance = Signal()

    def hold(self, step: str, **values: Value) -> list[Value]:
        """The values behind the step's rank, or the values where it has none."""
        if step not in self._steps:
            return list(values.values())
        held_valid = Signal(name=f"{step}_valid")
        held = {name: Signal.like(value, name=f"{step}_{name}", reset_less=True) for name, value in values.items()}
        with self._m.If(self.advance):
            self._m.d.sync += [held_valid.eq(self.valid), *(held[name].eq(value) for name, value in values.items())]
        self.valid = held_valid
        return list(held.values())

    def finish(self) -> Value:
        """Drive ``advance``, after the last rank; whether the start is ready."""
        self._m.d.comb += self.advance.eq(self._ready | ~self.valid)
        return self.advance if self._steps else self._ready
