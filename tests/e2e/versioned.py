"""Two versions of one application; processes load `tests.e2e.versioned:old` or `:new`."""

from __future__ import annotations

from turnwise import App, ChatAgent, ChatAgentConfig, MockLMConfig, Task


def _version(version: str) -> App:
    app = App("shop", version=version)

    @app.task
    def desk() -> Task:
        """Asks its human after each answer; says by which version it was built."""
        model = MockLMConfig(response_fn=lambda said: f"version {version} heard {said}")
        return Task(ChatAgent(ChatAgentConfig(name="desk", llm=model)), name="desk", interactive=True)

    return app


old, new = _version("1.0"), _version("2.0")
