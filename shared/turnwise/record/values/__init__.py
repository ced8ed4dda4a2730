"""The values that the record takes and gives, frozen."""
