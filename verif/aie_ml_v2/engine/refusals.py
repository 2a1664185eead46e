"""Commands that the engine refuses: why, by golden's formats and sizes, and every code of the fields that have illegal ones."""

from collections.abc import Iterator
from itertools import product
from random import Random
from typing import Any

from bitpath.rtl.aie_ml_v2.engine.command import AieEngineConfig, command_layout
from bitpath.rtl.aie_ml_v2.faults import Fault
from bitpath.rtl.aie_ml_v2.mac.config import MacMode
from bitpath.verif.aie_ml_v2.engine.model import tile_words
from bitpath.verif.aie_ml_v2.engine.rows import RowKind, row_kinds

Fields = dict[str, Any]
CODES = 8
"""Codes of a mode and of a format."""


def fault_of(config: AieEngineConfig, fields: Fields) -> Fault:
    """Return why a command with these fields is refused."""
    kind = kinds(config).get(fields["store"]["mode"])
    if kind is None:
        return Fault.OPERATION
    formats = kind.mode.formats
    if formats and max(fields["x_format"], fields["y_format"]) >= len(formats):
        return Fault.FORMAT
    end = fields["store"]["address"] + (fields["store"]["last_tile"] + 1) * tile_words(config, kind)
    return Fault.RANGE if fields["stores"] and end > config.result_depth else Fault.NONE


def kinds(config: AieEngineConfig) -> dict[int, RowKind]:
    """Return a kind of operands of each mode, by its code."""
    return {MacMode.of(each.mode).value: each for each in row_kinds(config.unit.numerics)}


def random_fields(config: AieEngineConfig, rng: Random) -> Fields:
    """Return a command with any bits in all fields."""
    layout = command_layout(config)
    fields: Fields = {name: rng.getrandbits(field.width) for name, field in layout if name != "store"}
    store = layout["store"].shape
    return fields | {"store": {name: rng.getrandbits(field.width) for name, field in store}}


def every_code(config: AieEngineConfig, rng: Random) -> Iterator[Fields]:
    """Yield every code of the mode with every code of both formats."""
    for mode, x_format, y_format in product(range(CODES), repeat=3):
        fields = random_fields(config, rng)
        fields["store"]["mode"] = mode
        yield fields | {"x_format": x_format, "y_format": y_format}


def every_end(config: AieEngineConfig, rng: Random) -> Iterator[Fields]:
    """Yield stores of every number of tiles in every mode that end a word before, at, and a word behind the memory's end."""
    for (mode, kind), last_tile, beyond in product(kinds(config).items(), range(config.unit.accumulators), (-1, 0, 1)):
        fields = random_fields(config, rng) | {"x_format": 0, "y_format": 0, "stores": 1}
        address = config.result_depth - (last_tile + 1) * tile_words(config, kind) + beyond
        if 0 <= address < config.result_depth:
            yield fields | {"store": {"mode": mode, "accumulator": 0, "last_tile": last_tile, "address": address}}
