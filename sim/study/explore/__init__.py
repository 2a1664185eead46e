"""Sweeps of numerics that trade area for accuracy, with plots and Pareto fronts."""
