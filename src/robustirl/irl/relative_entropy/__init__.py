"""Relative-entropy IRL for worlds known through samples."""
