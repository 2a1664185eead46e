"""NKI kernels on golden: the project's own kernels, and what the layer refuses, warns of and counts."""
