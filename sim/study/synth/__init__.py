"""Area and delay of units on generic cells."""
