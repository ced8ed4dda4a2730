"""The human of an agent: questions, answers, and the terminal."""
