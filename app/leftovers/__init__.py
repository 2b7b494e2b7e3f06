"""What removed changefeeds leave behind: scratch and dead letters below the checkpoint folder, and their history."""
