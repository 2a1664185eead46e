"""AMD AIE-ML v2: the vector unit's multiply-accumulate, the conversions beside it, the cascade, and an engine around them."""
