"""All properties, by name."""

from bitpath.verif.formal import multipliers, streams
from bitpath.verif.formal.property import Property

PROPERTIES: dict[str, Property] = {each.name: each for each in (*multipliers.PROPERTIES, *streams.PROPERTIES)}
