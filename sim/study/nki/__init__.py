"""NKI kernels from files: loaded, run on golden, compared with float64, and drawn on a timeline."""
