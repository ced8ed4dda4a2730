"""The custom resources that the chart makes, as far as it uses their fields; Kubernetes' own schemas do not have them.

Names and types follow the definitions of KEDA 2.20, the Prometheus operator and the Gateway API 1.2; a field
that is not here is refused.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", alias_generator=to_camel, strict=True, populate_by_name=False)


class _Named(_Part):
    name: str = Field(min_length=1)


class _Selector(_Part):
    match_labels: dict[str, str]


class _SecretKey(_Part):
    parameter: str
    name: str
    key: str


class _TriggerAuthentication(_Part):
    secret_target_ref: list[_SecretKey] = Field(min_length=1)


class _Policy(_Part):
    type: Literal["Pods", "Percent"]
    value: int = Field(gt=0)
    period_seconds: int = Field(gt=0, le=1800)


class _Rules(_Part):
    stabilization_window_seconds: int = Field(ge=0, le=3600)
    policies: list[_Policy] = Field(min_length=1)
    select_policy: Literal["Max", "Min", "Disabled"] | None = None


class _Behavior(_Part):
    scale_up: _Rules
    scale_down: _Rules


class _HpaConfig(_Part):
    behavior: _Behavior


class _Advanced(_Part):
    horizontal_pod_autoscaler_config: _HpaConfig


class _Fallback(_Part):
    failure_threshold: int = Field(gt=0)
    replicas: int = Field(ge=0)
    behavior: Literal["static", "currentReplicas", "currentReplicasIfHigher", "currentReplicasIfLower"]


class _PostgresTrigger(_Part):
    query: str
    target_query_value: str = Field(pattern=r"^\d+$")
    activation_target_query_value: str = Field(pattern=r"^\d+$")


class _PrometheusTrigger(_Part):
    server_address: str
    query: str
    threshold: str = Field(pattern=r"^\d+$")
    activation_threshold: str = Field(pattern=r"^\d+$")
    ignore_null_values: Literal["true", "false"]
    auth_modes: str | None = None


class _RabbitTrigger(_Part):
    protocol: Literal["http", "amqp", "auto"]
    mode: Literal["QueueLength", "MessageRate"]
    queue_name: str
    use_regex: Literal["true", "false"]
    operation: Literal["sum", "max", "avg"]
    value: str = Field(pattern=r"^\d+$")
    activation_value: str = Field(pattern=r"^\d+$")


_TRIGGERS: dict[str, type[_Part]] = {
    "postgresql": _PostgresTrigger,
    "prometheus": _PrometheusTrigger,
    "rabbitmq": _RabbitTrigger,
}


class _Trigger(_Part):
    type: str
    metadata: dict[str, str]  # every value is a string
    authentication_ref: _Named | None = None

    @model_validator(mode="after")
    def _knows_its_metadata(self) -> _Trigger:
        _TRIGGERS[self.type].model_validate(self.metadata)
        return self


class _ScaledObject(_Part):
    scale_target_ref: _Named
    polling_interval: int = Field(gt=0)
    cooldown_period: int = Field(ge=0)
    min_replica_count: int = Field(ge=0)
    max_replica_count: int = Field(gt=0)
    fallback: _Fallback | None = None
    advanced: _Advanced
    triggers: list[_Trigger] = Field(min_length=1)

    @model_validator(mode="after")
    def _has_a_range(self) -> _ScaledObject:
        if self.max_replica_count < self.min_replica_count:
            raise ValueError("maxReplicaCount is less than minReplicaCount")
        return self


class _Relabeling(_Part):
    source_labels: list[str] | None = None
    regex: str | None = None
    target_label: str | None = None
    replacement: str | None = None
    action: str | None = None


class _Endpoint(_Part):
    port: str
    path: str
    interval: str = Field(pattern=r"^\d+(ms|s|m)$")
    scrape_timeout: str | None = Field(None, pattern=r"^\d+(ms|s|m)$")
    relabelings: list[_Relabeling] = []
    metric_relabelings: list[_Relabeling] = []


class _ServiceMonitor(_Part):
    selector: _Selector
    endpoints: list[_Endpoint] = Field(min_length=1)


class _PodMonitor(_Part):
    selector: _Selector
    pod_metrics_endpoints: list[_Endpoint] = Field(min_length=1)


class _Rule(_Part):
    record: str | None = None
    alert: str | None = None
    expr: str
    for_: str | None = Field(None, alias="for")
    keep_firing_for: str | None = Field(None, alias="keep_firing_for")
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}

    @model_validator(mode="after")
    def _is_one_of_both(self) -> _Rule:
        if (self.record is None) == (self.alert is None):
            raise ValueError("a rule records or alerts")
        return self


class _Group(_Part):
    name: str
    interval: str | None = None
    rules: list[_Rule] = Field(min_length=1)


class _PrometheusRule(_Part):
    groups: list[_Group] = Field(min_length=1)


class _ParentRef(_Part):
    name: str = Field(min_length=1)
    namespace: str | None = None
    section_name: str | None = None


class _PathMatch(_Part):
    type: Literal["Exact", "PathPrefix", "RegularExpression"]
    value: str = Field(pattern="^/")


class _Match(_Part):
    path: _PathMatch


class _Filter(_Part):
    type: Literal["URLRewrite", "RequestHeaderModifier", "ResponseHeaderModifier"]
    url_rewrite: dict[str, Any] | None = Field(None, alias="urlRewrite")


class _Timeouts(_Part):
    request: str = Field(pattern=r"^([0-9]{1,5}(h|m|s|ms)){1,4}$")


class _Backend(_Part):
    name: str = Field(min_length=1)
    port: int = Field(gt=0, le=65535)


class _RouteRule(_Part):
    matches: list[_Match] = Field(min_length=1)
    filters: list[_Filter] = []
    timeouts: _Timeouts
    backend_refs: list[_Backend] = Field(min_length=1)


class _HTTPRoute(_Part):
    parent_refs: list[_ParentRef] = Field(min_length=1)
    hostnames: list[str] = []
    rules: list[_RouteRule] = Field(min_length=1)


SPECS: dict[tuple[str, str], type[BaseModel]] = {
    ("gateway.networking.k8s.io/v1", "HTTPRoute"): _HTTPRoute,
    ("keda.sh/v1alpha1", "TriggerAuthentication"): _TriggerAuthentication,
    ("keda.sh/v1alpha1", "ScaledObject"): _ScaledObject,
    ("monitoring.coreos.com/v1", "ServiceMonitor"): _ServiceMonitor,
    ("monitoring.coreos.com/v1", "PodMonitor"): _PodMonitor,
    ("monitoring.coreos.com/v1", "PrometheusRule"): _PrometheusRule,
}


def check(resource: dict[str, Any]) -> None:
    """Raise `ValidationError` for a resource that is not as its definition says; `KeyError` for an unknown one."""
    assert set(resource) == {"apiVersion", "kind", "metadata", "spec"}
    SPECS[resource["apiVersion"], resource["kind"]].model_validate(resource["spec"])
