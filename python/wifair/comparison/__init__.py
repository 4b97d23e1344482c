"""Comparisons of scenarios, results, measurements and captures."""
