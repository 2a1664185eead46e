"""Synthesizable Amaranth models of the matrix engines.

From :mod:`bitpath.golden` only the declarations in ``bitpath.golden.spec`` are read; the arithmetic is derived here from
the same specification by another route.
"""
