"""TiCDC's storage layout: paths and schema files. Pure; no file is touched."""
