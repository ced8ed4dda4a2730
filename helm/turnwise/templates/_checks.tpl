{{/* What the schema cannot say: values that are right alone and wrong together. One definition for each subject. */}}
{{- define "turnwise.checks" -}}
{{- include "turnwise.checkNames" . }}
{{- include "turnwise.checkPaths" . }}
{{- include "turnwise.checkBroker" . }}
{{- include "turnwise.checkQueues" . }}
{{- include "turnwise.checkShared" . }}
{{- include "turnwise.checkAlerts" . }}
{{- include "turnwise.checkRange" (dict "name" "gateway.autoscaling" "range" .Values.gateway.autoscaling) }}
{{- range .Values.workers }}
{{- include "turnwise.checkScaling" (dict "root" $ "worker" (include "turnwise.worker" (dict "root" $ "worker" .) | fromJson)) }}
{{- end }}
{{- end }}

{{/* Names of Services begin with a letter, and two pools of one name would be one Deployment. */}}
{{- define "turnwise.checkNames" -}}
{{- $full := include "turnwise.fullname" . }}
{{- if not (regexMatch "^[a-z]([-a-z0-9]*[a-z0-9])?$" $full) }}
{{- fail (printf "objects would be called %s, which is no name of a Service: it has to begin with a letter and to have small letters, digits and hyphens only; set fullnameOverride" $full) }}
{{- end }}
{{- $names := list }}
{{- range .Values.workers }}
{{- if has .name $names }}
{{- fail (printf "workers: two pools are called %s; each needs a name of its own" .name) }}
{{- end }}
{{- $names = append $names .name }}
{{- end }}
{{- end }}

{{/* A gateway knows one root path, whoever brings requests to it. */}}
{{- define "turnwise.checkPaths" -}}
{{- $root := include "turnwise.rootPath" . }}
{{- $paths := dict "gateway.rootPath" .Values.gateway.rootPath }}
{{- if .Values.ingress.enabled }}{{ $_ := set $paths "ingress.path" .Values.ingress.path }}{{ end }}
{{- if .Values.httpRoute.enabled }}{{ $_ := set $paths "httpRoute.path" .Values.httpRoute.path }}{{ end }}
{{- range $name, $path := $paths }}
{{- $path = trimSuffix "/" $path }}
{{- /* A proxy further out may bring a path in front of an Ingress that has none. */}}
{{- if and (ne $path $root) (or (ne $path "") (and (ne $name "gateway.rootPath") (eq (trimSuffix "/" $.Values.gateway.rootPath) ""))) }}
{{- fail (printf "%s is %q, but another path in front of the gateway is %q; give ingress.path, httpRoute.path and gateway.rootPath the same value" $name (default "/" $path) $root) }}
{{- end }}
{{- end }}
{{- if and .Values.httpRoute.enabled (not .Values.httpRoute.parentRefs) }}
{{- fail "httpRoute.parentRefs is empty; name the Gateway that the route belongs to: [{name: public, namespace: gateways}]" }}
{{- end }}
{{- end }}

{{- define "turnwise.checkBroker" -}}
{{- if and .Values.evaluation.enabled .Values.brokerTls.secret }}
{{- fail "brokerTls.secret is set, but the broker of the evaluation mode speaks no TLS; leave one of them out" }}
{{- end }}
{{- if and .Values.brokerTls.key (not .Values.brokerTls.cert) }}
{{- fail "brokerTls.key is set, but brokerTls.cert is not; set both" }}
{{- end }}
{{- end }}

{{/* An ask in a queue that no pool serves would wait for ever, and a worker of a queue that the settings lack would not start. */}}
{{- define "turnwise.checkQueues" -}}
{{- $wanted := splitList "," (include "turnwise.queues" .) }}
{{- $told := include "turnwise.queuesAreKnown" . }}
{{- $served := list }}
{{- range .Values.workers }}
{{- $worker := include "turnwise.worker" (dict "root" $ "worker" .) | fromJson }}
{{- $scaled := and $worker.scaling.enabled (ne $.Values.autoscaling.kind "none") }}
{{- if gt (int (ternary $worker.scaling.maxReplicas $worker.replicas $scaled)) 0 }}
{{- $served = concat $served $worker.queues }}
{{- end }}
{{- $name := .name }}
{{- range $worker.queues }}
{{- if and $told (not (has . $wanted)) }}
{{- fail (printf "workers: pool %s serves the queue %s, which no agent is given; the queues are %s. Name its agent in settings.%s_QUEUES" $name . (join ", " $wanted) (regexFind "^[a-z]+" . | upper)) }}
{{- end }}
{{- end }}
{{- end }}
{{- range $wanted }}
{{- if not (has . (concat $served $.Values.queuesServedElsewhere)) }}
{{- fail (printf "no pool of workers serves the queue %s, so its asks would wait for ever; give a pool with at least one replica the queue, or name it in queuesServedElsewhere" .) }}
{{- end }}
{{- end }}
{{- end }}

{{/* Not empty where the names of queues are in the values; they may come from ConfigMaps and Secrets, too. */}}
{{- define "turnwise.queuesAreKnown" -}}
{{- $hidden := .Values.pod.extraEnvFrom }}
{{- range .Values.pod.extraEnv }}
{{- if and (has .name (list "TURNWISE_LLM_QUEUES" "TURNWISE_AGENT_QUEUES")) .valueFrom }}{{ $hidden = true }}{{ end }}
{{- end }}
{{- if not $hidden }}true{{ end }}
{{- end }}

{{/* Every queue of the installation, with commas between: llm, agent, and those of agents that settings name. */}}
{{- define "turnwise.queues" -}}
{{- $queues := list "llm" "agent" }}
{{- range $kind := list "LLM" "AGENT" }}
{{- $setting := printf "%s_QUEUES" $kind }}
{{- $text := get $.Values.settings $setting }}
{{- range $.Values.pod.extraEnv }}
{{- if and (eq .name (printf "TURNWISE_%s" $setting)) .value }}{{ $text = .value }}{{ end }}
{{- end }}
{{- if $text }}
{{- $found := fromJson $text }}
{{- if hasKey $found "Error" }}
{{- fail (printf "settings.%s is %s, which is not JSON; expected for instance {\"writer\": \"writer\"}" $setting $text) }}
{{- end }}
{{- range $agent, $word := $found }}
{{- $queues = append $queues (printf "%s-%s" (lower $kind) $word) }}
{{- end }}
{{- end }}
{{- end }}
{{- join "," (uniq $queues) }}
{{- end }}

{{/* Two pools that follow the backlog of one queue would each start as many workers as the whole of it needs. */}}
{{- define "turnwise.checkShared" -}}
{{- $kind := .Values.autoscaling.kind }}
{{- $followed := dict }}
{{- range .Values.workers }}
{{- $worker := include "turnwise.worker" (dict "root" $ "worker" .) | fromJson }}
{{- $name := .name }}
{{- if and $worker.scaling.enabled (ne $kind "none") (not (and (eq $kind "hpa") (eq $worker.scaling.hpaMetric "cpu"))) }}
{{- range $worker.queues }}
{{- if hasKey $followed . }}
{{- fail (printf "workers: pools %s and %s are both scaled by the whole backlog of the queue %s, so there would be twice the workers; let one of them serve it, or set scaling.enabled of one to false" (get $followed .) $name .) }}
{{- end }}
{{- $_ := set $followed . $name }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* Takes a dict of name, and range, which has minReplicas and maxReplicas. */}}
{{- define "turnwise.checkRange" -}}
{{- if lt (int .range.maxReplicas) (int .range.minReplicas) }}
{{- fail (printf "%s.maxReplicas is %v, less than its minReplicas, %v" .name .range.maxReplicas .range.minReplicas) }}
{{- end }}
{{- end }}

{{- define "turnwise.checkScaling" -}}
{{- $scaling := .worker.scaling }}
{{- $autoscaling := .root.Values.autoscaling }}
{{- include "turnwise.checkRange" (dict "name" (printf "workers: pool %s: scaling" .worker.name) "range" $scaling) }}
{{- if and $scaling.enabled (lt (int $scaling.minReplicas) 1) }}
{{- if eq $autoscaling.kind "hpa" }}
{{- fail (printf "workers: pool %s has scaling.minReplicas 0, which a HorizontalPodAutoscaler cannot do; use at least 1, or autoscaling.kind keda" .worker.name) }}
{{- else if and (eq $autoscaling.kind "keda") (eq $autoscaling.keda.trigger "rabbitmq") }}
{{- fail (printf "workers: pool %s has scaling.minReplicas 0, but the trigger rabbitmq sees no leased work, so its last worker would be stopped in the middle of it; use at least 1, or the trigger postgresql or prometheus" .worker.name) }}
{{- end }}
{{- end }}
{{- end }}

{{/* What is changed of an alert that there is not would change nothing. */}}
{{- define "turnwise.checkAlerts" -}}
{{- $known := list }}
{{- range $path, $_ := .Files.Glob "files/rules/*.yml" }}
{{- range ($.Files.Get $path | fromYaml).groups }}
{{- range .rules }}{{ if .alert }}{{ $known = append $known .alert }}{{ end }}{{ end }}
{{- end }}
{{- end }}
{{- range $name, $_ := .Values.monitoring.rules.alerts }}
{{- if not (has $name $known) }}
{{- fail (printf "monitoring.rules.alerts.%s: there is no such alert; there are %s" $name (join ", " (sortAlpha $known))) }}
{{- end }}
{{- end }}
{{- end }}
