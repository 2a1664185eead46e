"""Refusals, memory, warnings and counts of the machine below the kernels, tested by kernels of one instruction."""
