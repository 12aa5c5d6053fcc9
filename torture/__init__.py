"""Checks that take long or break things on purpose: fuzzing, kills, mutants (see docs/reliability.md)."""
