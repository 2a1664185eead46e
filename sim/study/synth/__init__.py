"""Area and delay of units in generic cells."""
