"""Faults: the product is killed and stopped in every way, and judged from outside. `make torture` takes longer."""
