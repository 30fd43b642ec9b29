"""N identical trials of one task on one endpoint under one set of conditions: one folder."""
