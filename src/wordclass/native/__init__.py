"""The compiled extension and its loader."""
