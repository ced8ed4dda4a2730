"""`turnwise batch`: the file, its way to the gateway, its progress and its results."""
