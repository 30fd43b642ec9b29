"""Pure functions on text: scripts, languages, repetition. Nothing here knows of models."""
