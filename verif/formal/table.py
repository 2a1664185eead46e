"""All properties, by name."""

from bitpath.verif.formal import (
    aligners,
    conversions,
    exponentials,
    floats,
    handshakes,
    machines,
    multipliers,
    pipelines,
    quantisers,
    rounders,
    streams,
)
from bitpath.verif.formal.property import Property

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
