"""And-inverter graphs: their files, and ABC on them."""
