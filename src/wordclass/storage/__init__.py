"""Files and saved models: atomic writes, checked reads, and what a model stores."""
