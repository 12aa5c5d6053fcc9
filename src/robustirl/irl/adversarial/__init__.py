"""Robust imitation from observation: a discriminator, and a player and an opponent trained by PPO."""
