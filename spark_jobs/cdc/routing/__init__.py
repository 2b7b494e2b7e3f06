"""Where a row goes: topic, partition, shard. Pure."""
