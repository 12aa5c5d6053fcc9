"""Demonstrations from and to files, tables and other libraries."""
