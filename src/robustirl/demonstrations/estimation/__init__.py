"""Estimate from demonstrations: occupancies with their error, chains, α."""
