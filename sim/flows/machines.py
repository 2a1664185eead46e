"""The machines, by the names that commands and records have for them."""

MACHINES = ("trainium3", "tensix", "aie_ml_v2")
