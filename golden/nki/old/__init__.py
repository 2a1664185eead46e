"""NKI 0.1, ``neuronxcc.nki``, on the new layer: its indices, tiles, functions and instructions."""
