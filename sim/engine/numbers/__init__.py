"""Numbers in a wave: the formats of codes, and the signals that select them, for the build and the viewers' files."""
