"""Importers, import and export, backups, and memories shared between machines."""
