#!/bin/sh
# Runs once, in an empty database: the role that memorybook serves with, which may do nothing but what servers need.
set -eu
psql -v ON_ERROR_STOP=1 -U postgres -d memory -v password="$MEMORY_PASSWORD" <<'SQL'
CREATE ROLE memorybook NOLOGIN;
CREATE ROLE memory LOGIN PASSWORD :'password';
GRANT memorybook TO memory;
SQL
