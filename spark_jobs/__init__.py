"""The data plane: decodes, filters, encodes and delivers. Never imports app, fastapi or sqlalchemy."""
