"""Names of the machines in commands and records; `sim.flows.machines` has a record of each."""

ENGINES = {"trainium3": "tensor_engine", "tensix": "tensix_engine", "aie_ml_v2": "aie_engine"}
"""Unit that runs the matmul of each machine."""
MACHINES = tuple(ENGINES)
