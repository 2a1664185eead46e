"""Golden models: the reference that the RTL is compared with, bit for bit.

``spec`` declares formats and numerics, ``exact`` is the scalar authority, and one package per machine holds the
vectorised operations. Importing this package imports nothing else, so that ``bitpath.golden.spec`` stays light
enough for the RTL.
"""
