"""Sinks for trying and measuring: ``stdout:`` prints, ``blackhole://`` decodes and drops. Nothing can be read back."""
