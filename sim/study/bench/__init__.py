"""Run time of the project's parts, measured with yardsticks in the same run."""
