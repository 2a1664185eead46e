"""Operands for benches: random ones by class, and directed corners that say what makes them one."""
