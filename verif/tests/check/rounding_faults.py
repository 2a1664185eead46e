"""Faults of the dot product's RTL that random operands do not meet: a sticky bit lost at one end of the result's range."""

SHIFT = "bitpath.rtl.common.arithmetic.normalize:NormalizeShift.elaborate"
ROUND = "bitpath.rtl.common.arithmetic.round:RoundSigned._up"
LOST, STICKY = "(moved[:lost] ^ zero.replicate(lost)).any()", "sticky=self.i.sticky"
FAULTS = {
    # The first sticky bits of a sum whose normalisation ends at the smallest exponent: those far below the result.
    "zero/above tie": (SHIFT, LOST, f"{LOST} & (taken | free | (level < 6))"),
    "subnormal grid, even/above tie": (ROUND, STICKY, f"{STICKY} & self.i.digits[-1]"),
    "first unit of the normals/above tie": (ROUND, STICKY, f"{STICKY} & ((self.i.exponent != 1) | ~self.i.digits[-1])"),
    "largest/above tie": (ROUND, STICKY, f"{STICKY} & (self.i.exponent != 254)"),
}
"""Faults of the RTL by the bin that must find them."""
QUICK = "zero/above tie"
