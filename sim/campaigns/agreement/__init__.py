"""The same steps through every engine that can run a unit: they must give the same bits."""
