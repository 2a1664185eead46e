"""Generated parts of the pages: tables, figures, and examples that are run."""
