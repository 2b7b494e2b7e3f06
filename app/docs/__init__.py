"""The API's own documentation: worked examples, and pages whose assets are bundled (no other host is asked)."""
