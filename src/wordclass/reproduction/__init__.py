"""The paper's experiments: plans, runs, tables, figures, claims, and the rivals it names."""
