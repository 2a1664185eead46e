"""NKI kernels on golden: the project's own kernels, and the layer's refusals, warnings and counts."""
