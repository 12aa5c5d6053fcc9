"""Tools for the pages and for releases."""
