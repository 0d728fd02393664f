"""Experiments: plans of runs, a runner that can be stopped, results, statistics and tables."""
