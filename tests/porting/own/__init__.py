"""Programs as somebody would write them who comes from the reference, after the one step."""
