"""Operators that every machine is built from, one to a file.

Arithmetic goes one way: decode, multiply, align, add, normalise, round. Everything before :mod:`.round` is exact or, in
:mod:`.align`, says what it drops.
"""
