"""Classes of the user's own in scenarios: found, digested, loaded, interrupted."""
