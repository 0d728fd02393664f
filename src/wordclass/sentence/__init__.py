"""One vector per text, or per token in context, from an encoder that was trained elsewhere."""
