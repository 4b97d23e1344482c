"""Runs of scenarios: seeds, threads, memory, and what a run records besides its results."""
