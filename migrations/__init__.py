"""The database's migrations (Alembic). They know no code of ``app``: they must stay true when it changes."""
