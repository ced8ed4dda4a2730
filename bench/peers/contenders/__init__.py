"""Programs that play the conversation with other libraries, run by an environment that has these installed."""
