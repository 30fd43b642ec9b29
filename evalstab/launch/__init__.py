"""How the server was started: what is observed, what is configured, what somebody declared."""
