"""Statements of formal properties of the RTL; each has a sabotage of the design that must refute it."""
