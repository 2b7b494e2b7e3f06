"""Sources against the real thing."""
