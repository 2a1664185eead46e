"""Where a MOP expander is in an expansion."""

from amaranth.lib import data

ROUND_BITS, INNER_BITS, STEP_BITS = 8, 8, 3
"""Bits of a round's number, at most 129 rounds; of a round of the inner loop, at most 254; of a step in a round."""
PLACE_BITS = 4
"""Bits of the number of a configuration word."""
MOP_STATE = data.StructLayout({"round": ROUND_BITS, "inner": INNER_BITS, "step": STEP_BITS})
"""Layout of the state, which is 0 at the first word of an expansion."""
