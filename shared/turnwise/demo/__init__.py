"""The example application: the support desk of Larkspur Notes, an invented note-taking service."""
