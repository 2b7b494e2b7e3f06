"""The page at ``/``: plain HTML, made here at each request; no script, no other host."""
