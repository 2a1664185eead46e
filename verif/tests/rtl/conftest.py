"""What the tests of single operators share."""

import pytest
from amaranth.sim import Simulator


@pytest.fixture
def evaluate():
    """Drive a combinational component in Amaranth's simulator: a list of ``{port: value}`` to a list of ``o``, or of several."""

    def run(component, vectors, *outputs):
        results = []

        async def bench(ctx):
            for vector in vectors:
                for name, value in vector.items():
                    ctx.set(getattr(component, name), value)
                results.append(tuple(ctx.get(getattr(component, name)) for name in outputs) or ctx.get(component.o))

        simulator = Simulator(component)
        simulator.add_testbench(bench)
        simulator.run()
        assert len(results) == len(vectors) > 0
        return results

    return run
