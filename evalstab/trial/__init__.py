"""One conversation: the loop, its record, and going on with it after a stop."""
