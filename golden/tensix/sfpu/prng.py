"""Random numbers of the Vector unit: a 32-bit shift register in each of 32 lanes.

::

    next = state >> 1, bit 31 = not parity(state & 0x80200003)

Ref: tt-isa-documentation, VectorUnit; ttsim v1.10.0 for the seed.
"""

import numpy as np

from bitpath.golden.arrays.arguments import integer
from bitpath.golden.arrays.parallel import owned
from bitpath.golden.tensix.declarations.sfpu import LANES

WARM_UP_STEPS, LANE_STEPS = 32, 2
"""Steps of the seed at first, and before each lane takes it."""


def step(states: np.ndarray) -> np.ndarray:
    """Return the next states, uint32."""
    from bitpath.golden.tensix.sfpu.lanes_loop import step_states

    result = np.empty(states.shape, np.uint32)
    step_states(owned(states).ravel(), result.ravel())
    return result


class Prng:
    """Random numbers of all lanes.

    A write to PRNG_SEED steps the seed 32 times. Then lanes 31 to 0 take it, each after two more steps.
    """

    def __init__(self, seed: int):
        """Seed the lanes; raise ValueError for a seed of more than 32 bits."""
        value = np.array([integer("seed", seed, range(1 << 32))], np.uint32)
        for _ in range(WARM_UP_STEPS):
            value = step(value)
        states = []
        for _ in range(LANES):
            for _ in range(LANE_STEPS):
                value = step(value)
            states.append(value)
        self._state = np.concatenate(states[::-1])

    def __repr__(self) -> str:
        return f"Prng({self._state.tolist()})"

    @property
    def state(self) -> np.ndarray:
        """The states by lane, uint32 [32]."""
        return self._state.copy()

    def next(self) -> np.ndarray:
        """Step all lanes; return the states before the step, which an instruction uses: uint32 [32]."""
        before, self._state = self._state, step(self._state)
        return before
