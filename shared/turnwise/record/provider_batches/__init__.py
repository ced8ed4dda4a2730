"""Model calls that wait for a batch of their provider: collected, submitted together, and taken back."""
