"""Proofs of the properties of :mod:`bitpath.verif.formal`, and of their sabotages."""
