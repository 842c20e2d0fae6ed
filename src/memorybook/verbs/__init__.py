"""What the verbs of `Memory` do, one file per group, imported when first used."""
