//! Scenario tables: declared once, read with all errors and their places, described for schema and docs.
