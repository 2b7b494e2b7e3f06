"""Alibaba DataHub: Blob records (JSON) and Tuple records (typed columns)."""
