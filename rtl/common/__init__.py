"""Operators that all machines share, one a file.

Arithmetic goes one way: decode, multiply, align, add, normalise, round. All steps before rounding are exact, except that
alignment may discard bits as its parameter says.
"""
