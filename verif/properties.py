"""All properties, by name."""

from bitpath.verif.aie_ml_v2.convert import conversions
from bitpath.verif.common.arithmetic import aligners, floats, multipliers, rounders
from bitpath.verif.common.pipeline import handshakes, pipelines, streams
from bitpath.verif.formal.property import Property
from bitpath.verif.tensix.dot import machines
from bitpath.verif.trainium3.vector import exponentials, quantisers

THEMES = (
    multipliers,
    exponentials,
    aligners,
    rounders,
    pipelines,
    streams,
    handshakes,
    quantisers,
    conversions,
    floats,
    machines,
)
PROPERTIES: dict[str, Property] = {each.name: each for theme in THEMES for each in theme.PROPERTIES}
