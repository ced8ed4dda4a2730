"""The past of a run: reconstruction, fork, retry and export."""
