"""Results of the Matrix unit in flight to Dst, and which of them an access must wait for."""

from amaranth import Cat, Mux, Value
from amaranth.lib import data

from bitpath.golden.tensix.declarations.formats import BLOCK_ROWS, COLUMNS
from bitpath.rtl.tensix.matrix.config import MatrixUnitConfig
from bitpath.rtl.tensix.matrix.dst_register import DstAddress, pair_of
from bitpath.rtl.tensix.matrix.instruction import Zeroed


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


def zeroacc_waits(flights: list, address: Value, zeroed: Value) -> Value:
    """Return 1 if a ZEROACC must wait: its rows have results in flight, or a result lands while one row's flag takes the write port.

    16 rows are one pair of 16-bit blocks, or the upper halves of two pairs.
    """
    pair, row = pair_of(address), zeroed == Zeroed.ROW
    waits = [row & flights[-1].valid]
    for flight in flights:
        own, both = pair_of(flight.address), flight.address.dst32
        narrow = (own == pair) & (~row | both | (flight.address.row[3] == address.row[3]))
        wide = (own[1:] == pair[1:]) & (both | ~flight.address.row[3])
        half = (zeroed == Zeroed.HALF) & (own[-1] == pair[-1])
        some = (row | (zeroed == Zeroed.SIXTEEN)) & Mux(address.dst32, wide, narrow)
        waits.append(flight.valid & ((zeroed == Zeroed.ALL) | half | some))
    return Cat(waits).any()
