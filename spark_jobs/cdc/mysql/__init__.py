"""MySQL types and the texts of their values. Pure."""
