"""The door for programs that speak to OpenAI: a model is a task, a completion is a run."""
