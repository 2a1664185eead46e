"""Cascade: a chain of multiply-accumulates that splits K; each stage adds its products to the partial sums before it.

::

     before --> stage_0 --> link_0 --> stage_1 --> ... --> stage_n --> o       512 bits: 16 lanes of FP32 or INT32
                   ^                      ^                   ^
                  i_0                    i_1                 i_n

Ref: AM027, Register Move Functionality.
"""

from amaranth import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from bitpath.golden.aie_ml_v2.declarations.codes import CASCADE_BITS
from bitpath.rtl.aie_ml_v2.cascade.cascade_link import CascadeLink
from bitpath.rtl.aie_ml_v2.cascade.cascade_stage import CascadeStage, stage_beat
from bitpath.rtl.aie_ml_v2.cascade.config import CascadeConfig, CascadeLinkConfig
from bitpath.rtl.common.pipeline.shared_instances import instantiate


class Cascade(wiring.Component):
    """Stages in order of K with a link between neighbours.

    A word takes two cycles through a link; a link moves one word a cycle. Back-pressure on ``o`` stalls the stages.

    Parameters
    ----------
    config : CascadeConfig, the number of stages and the multiply-accumulate of each.

    Members
    -------
    i_0, i_1, ... : In(stream of stage_beat), the beats of each stage
    before : In(stream of 512), partial sums for the first stage
    o : Out(stream of 512), results of the last stage
    """

    def __init__(self, config: CascadeConfig):
        self.config = config
        beats = In(stream.Signature(stage_beat(config.mac)))
        super().__init__(
            {f"i_{k}": beats for k in range(config.stages)}
            | {"before": In(stream.Signature(CASCADE_BITS)), "o": Out(stream.Signature(CASCADE_BITS))}
        )

    def elaborate(self, platform):
        m = Module()
        incoming = flipped(self.before)
        for k in range(self.config.stages):
            stage = instantiate(m, platform, f"stage_{k}", CascadeStage, self.config.mac)
            connect(m, flipped(getattr(self, f"i_{k}")), stage.i)
            connect(m, incoming, stage.before)
            if k == self.config.stages - 1:
                connect(m, stage.after, flipped(self.o))
            else:
                link = instantiate(m, platform, f"link_{k}", CascadeLink, CascadeLinkConfig())
                connect(m, stage.after, link.i)
                incoming = link.o
        return m
