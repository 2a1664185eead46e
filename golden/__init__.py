"""Golden models: the reference that the RTL is compared with, bit for bit.

``formats`` and each machine's ``declarations`` only declare, and the RTL reads nothing else. ``exact`` names the scalar
authority. ``trainium3``, ``tensix`` and ``aie_ml_v2`` hold the vectorised operations.
"""
