"""Gymnasium both ways; importing this package needs no Gymnasium, calling it does."""
