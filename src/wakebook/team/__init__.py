"""team: many memories in one PostgreSQL.

A tenant is one memory, and its home is rows. Whoever works on it brings a working copy up to date,
runs the same code as on a laptop, and commits what has changed. Nothing here is imported by a home
on one machine: psycopg and procrastinate come with `pip install wakebook[team]`.
"""
