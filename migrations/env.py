"""How Alembic runs here: on the engine that ``app.database`` hands over, never by itself.

Replicas that start together migrate one after the other: the first holds a lock, the next find nothing to do.
"""

from alembic import context

engine = context.config.attributes["engine"]

# SQLite needs none: its transaction begins with BEGIN IMMEDIATE.
LOCKS = {
    "postgresql": "SELECT pg_advisory_xact_lock(8462903417)",
    "mysql": "SELECT GET_LOCK('weir_migrations', 60)",
}

with engine.connect().execution_options(immediate=True) as connection:
    context.configure(connection=connection, transactional_ddl=engine.dialect.name != "mysql")
    with context.begin_transaction():
        if engine.dialect.name in LOCKS:
            connection.exec_driver_sql(LOCKS[engine.dialect.name])
        context.run_migrations()
    if connection.in_transaction():
        connection.commit()
    if engine.dialect.name == "mysql":
        connection.exec_driver_sql("SELECT RELEASE_LOCK('weir_migrations')")
