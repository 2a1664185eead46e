"""Declarations shared by the golden models and the RTL: formats, block formats, numerics, presets and their sources.

Nothing here computes: no function takes a code, a value or an array. What is declared once here is read by both
sides; how each side does the arithmetic is its own affair.
"""
