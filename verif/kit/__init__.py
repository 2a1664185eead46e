"""Building blocks of benches: streams, scoreboard, coverage, packing, reports."""
