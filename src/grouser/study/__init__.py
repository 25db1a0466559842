"""Studies: many variants of a vehicle, its ground and its drive, run in chunks."""
