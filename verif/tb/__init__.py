"""Benches: cocotb modules, one a unit, loaded by the simulator."""
