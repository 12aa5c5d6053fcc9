"""The figures of the paper and of the studies: they read results and draw; nothing is computed here."""
