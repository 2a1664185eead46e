"""The packers' accumulation in L1: old + new, to nearest even, where the Matrix unit rounds ties away.

Ref: ttsim v1.10.0; the documents only say that it exists.
"""

from bitpath.golden.tensix.declarations.formats import Format

ACCUMULATING_FORMATS = (Format.FP32, Format.BF16, Format.FP16)
