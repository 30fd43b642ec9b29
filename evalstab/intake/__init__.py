"""Records and tables that others made: read here, judged like our own."""
