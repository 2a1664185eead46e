"""Sizes of a thread's instruction stream, its expanders and its counters.

Ref: tt-isa-documentation 3930471, MOPExpander, REPLAY, RWCs, ADCs.
"""

from bitpath.golden.tensix.declarations.chips import Chip

MOP_WORDS = 9
"""Configuration words of a thread's MOP expander."""
MASK_BITS, MASK_HIGH_SHIFT = 32, 16
"""Bits of template 0's mask, and place of MOP_CFG's among them."""
COUNT_MASK = 127
"""Bits of template 1's counts."""
EXTRA_ROUNDS = 128
"""Outer rounds that the hardware bug adds."""
REPLAY_WORDS = 32
"""Words of a thread's replay buffer."""

SRC_BITS, DST_BITS, PHASE_BITS = 6, 10, 2
"""Bits of the RWCs of SrcA's and SrcB's rows, of Dst's rows, and of the fidelity phase."""
INDEX_BITS = {Chip.WORMHOLE: 2, Chip.BLACKHOLE: 3}
"""Bits of an instruction's modifier index."""
MODIFIERS = 8
"""Modifiers of a thread."""
MODIFIER_BITS = 16

DIMENSIONS = ("x", "y", "z", "w")
"""ADCs of a channel, in the order of SETADC's `dimension`."""
WIDTHS = {"x": 18, "y": 13, "z": 8, "w": 8}
"""Bits of the ADCs."""
CHANNELS, UNITS = 2, 3
PACK_WORD_BITS = 16
