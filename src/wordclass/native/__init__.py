"""The native extension and its loader."""
