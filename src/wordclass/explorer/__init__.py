"""Views of a model as plain dicts, and a page that shows them."""
