"""Verification: benches that run inside a simulator (``tb``), and what they are made of (``kit``)."""
