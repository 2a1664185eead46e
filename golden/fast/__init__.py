"""The hot loops of the golden models, compiled by numba where it is installed; the same bits with and without.

Public operations stay where they are: they check their arguments, ask `backend.compiled` and hand the loop over, or go
through it in numpy, which is the reference that every kernel is held to. Only modules of this package import numba, and
they are imported where a loop is handed over, so that ``import bitpath.golden`` does not wait for a compiler.
"""
