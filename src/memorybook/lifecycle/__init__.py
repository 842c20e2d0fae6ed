"""The life of entries as pure steps: what is extracted, matched, merged, strengthened and faded."""
