"""What is proved of the RTL: properties, each beside a sabotage of the design that must refute it."""
