"""What is done to rows on their way from one format to another: halves joined, updates split, keys found. Pure."""
