"""What benches are made of: streams, scoreboard, coverage, packing, reports."""
