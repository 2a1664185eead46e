"""Probes: few operands whose results on a device tell which variant of the numerics it has."""
