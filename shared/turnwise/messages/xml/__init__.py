"""Tools that a model writes as XML: where they are in a text, how their fields are read and written."""
