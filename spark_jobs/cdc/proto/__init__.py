"""Messages generated from our own .proto files. A package of its own, so that it is found inside a zip too."""
