"""The experiments of the paper: finite and continuous ones, and a comparison with its published numbers."""
