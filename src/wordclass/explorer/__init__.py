"""A model to look at: questions answered with plain dicts, and a page that asks them."""
