"""AMD AIE-ML v2's PACK and UNPACK. Ref: llvm-aie, target aie2ps."""

PACK_BITS = (4, 8)
"""Element bits after PACK, by crPackSize; elements have twice these before it. UNPACK goes the other way."""
