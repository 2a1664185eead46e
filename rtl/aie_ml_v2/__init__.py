"""AMD AIE-ML v2: vector multiply-accumulate, conversions, cascade, and an engine that runs matrix products on them."""
