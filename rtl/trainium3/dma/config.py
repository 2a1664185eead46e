"""Configurations of the DMA units."""

from bitpath.golden.trainium3.declarations.dma import TRAINIUM3_DMA

TIMES = TRAINIUM3_DMA.numerics
BEAT_BYTES = TIMES.beat_bytes
