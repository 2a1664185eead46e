"""Results of the Matrix unit in flight to Dst, and which of them an access must wait for."""

from amaranth import Cat, Value
from amaranth.lib import data

from bitpath.golden.tensix.declarations.formats import BLOCK_ROWS, COLUMNS
from bitpath.rtl.tensix.matrix.config import MatrixUnitConfig
from bitpath.rtl.tensix.matrix.dst_register import DstAddress, pair_of


def flight_layout(config: MatrixUnitConfig) -> data.StructLayout:
    """Return the layout of a result in flight to Dst: its block, rows and column groups, and ``pools`` if it is GMPOOL's."""
    return data.StructLayout(
        {"address": DstAddress, "rows": BLOCK_ROWS, "columns": COLUMNS // config.cols, "pools": 1, "valid": 1}
    )


def in_flight(flights: list, address: Value) -> Value:
    """Return 1 if a result for the block that holds this row is in flight."""
    return Cat(
        flight.valid
        & (pair_of(flight.address) == pair_of(address))
        & (flight.address.dst32 | address.dst32 | (flight.address.row[3] == address.row[3]))
        for flight in flights
    ).any()


def clears_flight(flights: list, address: Value, clear_all: Value) -> Value:
    """Return 1 if ZEROACC would clear rows with results in flight: one pair of 16-bit blocks, or two pairs."""
    pair = pair_of(address)
    cleared = (
        clear_all
        | (pair_of(flight.address)[1:] == pair[1:]) & (address.dst32 | (pair_of(flight.address)[0] == pair[0]))
        for flight in flights
    )
    return Cat(flight.valid & each for flight, each in zip(flights, cleared, strict=True)).any()
