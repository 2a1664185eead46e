"""GTKWave save files and number filters, generated from the emitted design and the formats."""
