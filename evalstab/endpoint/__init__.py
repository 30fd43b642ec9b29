"""Who answers: requests to an OpenAI-compatible server and the reading of what comes back."""
