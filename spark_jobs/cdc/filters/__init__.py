"""Which tables, events and columns are carried: TiCDC's filter rules. Pure."""
