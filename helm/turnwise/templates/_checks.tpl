{{/* What the schema can not say: values that are right alone and wrong together. */}}
{{- define "turnwise.checks" -}}
{{- if and .Values.evaluation.enabled .Values.brokerTls.secret }}
{{- fail "brokerTls.secret is set, but the broker of the evaluation mode speaks no TLS; leave one of them out" }}
{{- end }}
{{- if and .Values.brokerTls.key (not .Values.brokerTls.cert) }}
{{- fail "brokerTls.key is set, but brokerTls.cert is not; set both" }}
{{- end }}
{{- $names := list }}
{{- range .Values.workers }}
{{- if has .name $names }}
{{- fail (printf "workers: two pools are called %s; each needs a name of its own" .name) }}
{{- end }}
{{- $names = append $names .name }}
{{- include "turnwise.checkScaling" (dict "root" $ "worker" (include "turnwise.worker" (dict "root" $ "worker" .) | fromJson)) }}
{{- end }}
{{- end }}

{{- define "turnwise.checkScaling" -}}
{{- $scaling := .worker.scaling }}
{{- $autoscaling := .root.Values.autoscaling }}
{{- if and $scaling.enabled (ne $autoscaling.kind "none") }}
{{- if lt (int $scaling.maxReplicas) (int $scaling.minReplicas) }}
{{- fail (printf "workers: pool %s has scaling.maxReplicas %v, less than its minReplicas, %v" .worker.name $scaling.maxReplicas $scaling.minReplicas) }}
{{- end }}
{{- if lt (int $scaling.minReplicas) 1 }}
{{- if eq $autoscaling.kind "hpa" }}
{{- fail (printf "workers: pool %s has scaling.minReplicas 0, which a HorizontalPodAutoscaler can not do; use at least 1, or autoscaling.kind keda" .worker.name) }}
{{- else if eq $autoscaling.keda.trigger "rabbitmq" }}
{{- fail (printf "workers: pool %s has scaling.minReplicas 0, but the trigger rabbitmq sees no leased work, so its last worker would be stopped in the middle of it; use at least 1, or the trigger postgresql or prometheus" .worker.name) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
