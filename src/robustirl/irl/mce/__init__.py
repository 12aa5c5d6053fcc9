"""Maximum causal entropy IRL, standard and robust."""
