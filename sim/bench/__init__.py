"""What the project's parts cost: measured, with yardsticks in the same run."""
