"""Replays the same steps on every engine that can run a unit, and compares the bits."""
