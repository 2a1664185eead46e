"""How the engines of a Trainium3 core work together: the rules that no document states.

Ref: "Trainium3 Architecture Guide for NKI", AWS Neuron documentation, 2026-08 (here ARCH3); "DMA overview" (here DMA).
"""

from bitpath.golden.formats.sources import choices, chosen, documented

TICKS_PER_NS = 2.4
"""Ticks of the timeline in a nanosecond: TensorE's clock (ARCH3)."""

CHOICES = choices(
    {
        "An engine runs its instructions in order and waits for others at semaphores": documented("ARCH3, DMA"),
        "A result is there when its instruction ends; an engine's pipeline adds nothing": chosen(
            "no document states the latencies of the engines' pipelines"
        ),
        "The generation of a transfer's descriptors is in order for each DGE, and takes GpSimd's time where software does it": chosen(
            "ARCH2 places a DGE behind two sequencers; whether one generates for two transfers at once is not said"
        ),
        "Conflicts in the memories take no time": chosen("ARCH1, ARCH2 name them without their cost"),
    }
)
"""Rules that no field switches."""
