"""A chain of multiply-accumulates, each of which adds to what the one before it has sent.

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
    """Stages with a link between each two; sums along K go from the first to the last.

    Parameters
    ----------
    config : the number of stages, and the multiply-accumulate of each.

    Members
    -------
    i_0, i_1, ... : In(stream of stage_beat), of each stage
    before : In(stream of 512), what the first stage receives
    o : Out(stream of 512), what the last one sends
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
