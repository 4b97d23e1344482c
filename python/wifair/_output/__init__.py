"""What the package writes: files, streams, tables, reports, words."""
