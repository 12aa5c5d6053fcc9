"""The store: finished runs as files that no interruption can spoil."""
