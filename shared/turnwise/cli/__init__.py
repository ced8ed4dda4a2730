"""The command line; its modules load what a command needs when it runs, so that help is quick."""
