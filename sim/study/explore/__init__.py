"""Numerics that trade area for accuracy: swept, drawn, and the best of them marked."""
