"""What the project's parts cost in time: measured, with yardsticks in the same run."""
