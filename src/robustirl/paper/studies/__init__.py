"""Studies beyond the paper's figures, one module each."""
