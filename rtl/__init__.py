"""Synthesizable Amaranth models of the matrix engines.

They read only the declarations and formats of :mod:`bitpath.golden`. Golden models and RTL derive their arithmetic from
the same specification independently.
"""
