"""Tenstorrent Wormhole's Tensix: Matrix unit with its registers, unpackers, packers, and an engine around them."""
