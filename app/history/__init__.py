"""What happened to each changefeed: every state change and every operation."""
