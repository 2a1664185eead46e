"""Registers with a reset that they could do without: no output shows whether a reset left them."""

LOADED = "it is loaded before it is read"
EACH_CYCLE = "it is written in every cycle, and the valid bit that its reader looks at is reset"
EMPTY = "the stage in front of it is empty in the only cycle in which it counts"
UNSEEN = {
    **dict.fromkeys(("Dge.o__payload", "ReplayExpander.place", "ReplayExpander.executes", "TiliseAddress.row"), LOADED),
    **dict.fromkeys((f"DgeSide.{each}" for each in ("count", "empty", "address", "left", "partition")), LOADED),
    **dict.fromkeys(("MopExpander.word", "ReplayExpander.word"), LOADED),
    # `there`, which a command clears before it walks.
    "Dge.$signal": LOADED,
    # Every load has column 0 of the two rows.
    **dict.fromkeys(("WeightLoad.second_0", "WeightLoad.second_6"), LOADED),
    **dict.fromkeys(("DataMemory.read_0", "DataMemory.read_1", "LoadResult.fresh", "LoadResult.$signal"), EACH_CYCLE),
    "MopExpander.after_mop": EMPTY,
}
"""Reasons by name, component and signal."""
