"""Files that are there after a power cut."""
