"""Pages, pictures and tables for people."""
