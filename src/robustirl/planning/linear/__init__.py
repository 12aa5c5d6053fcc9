"""Solving with (I - γ P_π): dense inverses and Krylov methods."""
