"""Solvers: objects with tuning numbers as fields, for `robustirl.planning.solve`."""
