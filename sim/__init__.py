"""Everything that runs a simulator, and the ``bitpath`` command."""
