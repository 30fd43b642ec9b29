"""Gates: what is asked of a series, whether it holds, and how sure that is."""
