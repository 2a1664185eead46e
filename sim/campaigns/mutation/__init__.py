"""Mutants: a design or a golden model with one small fault in it, which the tests that belong to it must notice."""
