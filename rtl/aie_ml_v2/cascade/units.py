"""Units of rtl/aie_ml_v2/cascade: the chain of multiply-accumulates and the link between two."""

from bitpath.rtl.aie_ml_v2.cascade.cascade import Cascade, CascadeConfig, CascadeLink, CascadeLinkConfig
from bitpath.rtl.common.unit import CLOCK, INPUTS, OUTPUT, Covered, Unit, WaveGroup

UNITS = (
    Unit(
        name="cascade",
        room="aie_ml_v2/cascade",
        config_type=CascadeConfig,
        build=Cascade,
        summary="AIE-ML v2: chain of multiply-accumulates that splits K",
        covered=Covered(CascadeConfig(), 100),
        waves=(
            CLOCK,
            WaveGroup("beats", r"i_\d+__"),
            WaveGroup("from outside", r"before__"),
            WaveGroup("links", r"link_"),
            WaveGroup("first stage's multiply-accumulate", r"stage_0\.mac\."),
            WaveGroup("stages", r"stage_\d+\.(?!mac\.)"),
            OUTPUT,
        ),
    ),
    Unit(
        name="cascade_link",
        room="aie_ml_v2/cascade",
        config_type=CascadeLinkConfig,
        build=CascadeLink,
        summary="AIE-ML v2: cascade stream between two neighbours, two FIFOs",
        covered=Covered(CascadeLinkConfig(), 2000),
        waves=(CLOCK, INPUTS, WaveGroup("sender", r"sender\."), WaveGroup("receiver", r"receiver\."), OUTPUT),
    ),
)

CONTROL = ("cascade",)
"""Files without arithmetic (sequencers, register files, memories, wiring), which are not mutated."""
