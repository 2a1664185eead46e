"""Numbers of the thread's configuration registers that hold address modifiers; SETC16 writes them.

Ref: ttsim v1.10.0, data/wh/tensix_regs.json and data/bh/tensix_regs.json.
"""

from amaranth.lib import data

from bitpath.golden.tensix.declarations.chips import Chip

THREAD_WRITE = data.StructLayout({"register": 8, "value": 16})
"""Layout of a write to a thread's configuration register; units leave writes to other registers than their own alone."""
SET_BASE = {Chip.WORMHOLE: 2}
"""Register whose bit 0 is ADDR_MOD_SET_Base."""
AB = {Chip.WORMHOLE: range(7, 23, 2), Chip.BLACKHOLE: range(12, 20)}
DST = {Chip.WORMHOLE: range(23, 31), Chip.BLACKHOLE: range(28, 36)}
BIAS = {Chip.WORMHOLE: range(48, 56), Chip.BLACKHOLE: range(47, 55)}
PACK = {Chip.WORMHOLE: range(31, 35), Chip.BLACKHOLE: range(37, 41)}
"""Registers of the modifiers, by number."""
