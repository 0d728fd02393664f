"""The paper's experiments: plans, runs, statistics, tables."""
