"""The solvers of the game's fixed point."""
