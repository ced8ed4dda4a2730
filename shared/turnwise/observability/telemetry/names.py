"""Every name of spans, attributes and metrics, in one place: the conventions for generative AI are still changing.

https://github.com/open-telemetry/semantic-conventions-genai, as of November 2026 ("Development"). What they have no
name for begins with `turnwise.`.
"""

from __future__ import annotations

# Spans; a name's second part is a model, a tool, an agent, a task or a queue.
CHAT = "chat"
EXECUTE_TOOL = "execute_tool"
INVOKE_AGENT = "invoke_agent"
INVOKE_WORKFLOW = "invoke_workflow"
MOVE = "move"
SEND = "send"

# Attributes of the conventions.
OPERATION = "gen_ai.operation.name"
PROVIDER = "gen_ai.provider.name"
REQUEST_MODEL = "gen_ai.request.model"
REQUEST_MAX_TOKENS = "gen_ai.request.max_tokens"
REQUEST_TEMPERATURE = "gen_ai.request.temperature"
RESPONSE_MODEL = "gen_ai.response.model"
INPUT_TOKENS = "gen_ai.usage.input_tokens"
CACHED_TOKENS = "gen_ai.usage.cache_read.input_tokens"
OUTPUT_TOKENS = "gen_ai.usage.output_tokens"
CONVERSATION = "gen_ai.conversation.id"
AGENT = "gen_ai.agent.name"
WORKFLOW = "gen_ai.workflow.name"
TOOL = "gen_ai.tool.name"
TOOL_TYPE = "gen_ai.tool.type"
TOOL_CALL = "gen_ai.tool.call.id"
TOKEN_TYPE = "gen_ai.token.type"
ERROR = "error.type"
SERVER = "server.address"
PORT = "server.port"
# Content, written only where that is asked for.
INPUT_MESSAGES = "gen_ai.input.messages"
OUTPUT_MESSAGES = "gen_ai.output.messages"
TOOL_ARGUMENTS = "gen_ai.tool.call.arguments"
TOOL_RESULT = "gen_ai.tool.call.result"
CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"

MESSAGING_SYSTEM = "messaging.system"
MESSAGING_OPERATION = "messaging.operation.name"
MESSAGING_TYPE = "messaging.operation.type"
MESSAGING_DESTINATION = "messaging.destination.name"

# Our own.
RUN = "turnwise.run"
TASK = "turnwise.task"
TURN = "turnwise.turn"
ASK = "turnwise.ask"
ATTEMPT = "turnwise.attempt"
RESPONDER = "turnwise.responder"
WORKER = "turnwise.worker"
OUTCOME = "turnwise.outcome"
STATUS = "turnwise.status"
COST = "turnwise.cost_usd"
LINK = "turnwise.link"

# Metrics: name, unit, what it is, boundaries of its buckets.
_SECONDS = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92, 163.84, 327.68)
_TOKENS = tuple(float(4**n) for n in range(14))
CLIENT_DURATION = ("gen_ai.client.operation.duration", "s", "Duration of a call of a model.", _SECONDS)
TOKEN_USAGE = ("gen_ai.client.token.usage", "{token}", "Tokens of a call of a model.", _TOKENS)
WORKFLOW_DURATION = ("gen_ai.workflow.duration", "s", "From the acceptance of a run to its end.", _SECONDS)
AGENT_DURATION = ("gen_ai.invoke_agent.duration", "s", "Duration of an agent's answer.", _SECONDS)
TOOL_DURATION = ("gen_ai.execute_tool.duration", "s", "Duration of a call of a tool's handler.", _SECONDS)

# The conventions' names of providers, by what the host of their API ends with.
_PROVIDERS = {
    "api.openai.com": "openai",
    ".openai.azure.com": "azure.ai.openai",
    ".inference.ai.azure.com": "azure.ai.inference",
    "api.anthropic.com": "anthropic",
    "api.cohere.ai": "cohere",
    "api.cohere.com": "cohere",
    "api.deepseek.com": "deepseek",
    "api.groq.com": "groq",
    "api.mistral.ai": "mistral_ai",
    "api.perplexity.ai": "perplexity",
    "api.x.ai": "x_ai",
    "generativelanguage.googleapis.com": "gcp.gemini",
    "aiplatform.googleapis.com": "gcp.vertex_ai",
    ".amazonaws.com": "aws.bedrock",
}


def provider_name(host: str) -> str:
    """The provider at a host; of one that no one knows, whose API it speaks: openai."""
    return next((name for end, name in _PROVIDERS.items() if host.endswith(end)), "openai")
