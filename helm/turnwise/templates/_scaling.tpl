{{/* How many asks one replica is for; takes a pool. */}}
{{- define "turnwise.target" -}}
{{- default .concurrency .scaling.target }}
{{- end }}

{{/* How much work a pool at its maximum is for: counting further would change nothing. Takes a pool. */}}
{{- define "turnwise.most" -}}
{{- mul .scaling.maxReplicas (include "turnwise.target" . | int) }}
{{- end }}

{{/*
What turnwise_backlog says of the pool's queues, read from the record itself: leased asks, and runnable ones that are
due, whose provider has room, and that no pause holds. Takes a pool. Each part stops at the most, so a long queue costs what a short one does.
*/}}
{{- define "turnwise.backlogQuery" -}}
{{- $queues := printf "queue IN ('%s')" (join "', '" .queues) }}
{{- $most := include "turnwise.most" . }}
{{- $now := "(SELECT extract(epoch FROM now())::float8)" -}}
SELECT least(count(*), {{ $most }}) FROM (
(SELECT 1 FROM asks WHERE {{ $queues }} AND status = 'leased' LIMIT {{ $most }})
UNION ALL
(SELECT 1 FROM asks WHERE {{ $queues }} AND status = 'runnable'
AND NOT coalesce(due_at > {{ $now }}
OR bucket IN (SELECT id FROM provider_buckets WHERE open_at > {{ $now }}), false)
AND NOT EXISTS (SELECT 1 FROM pauses WHERE resumed_at IS NULL AND (kind = 'queue' AND name = asks.queue
OR kind = 'tenant' AND name = asks.tenant
OR kind = 'task' AND name = (SELECT task FROM runs WHERE runs.id = asks.run_id)))
LIMIT {{ $most }})
) AS work
{{- end }}

{{/*
The same from Prometheus; takes a dict of worker and selector. Every gateway and coordinator gives the same gauge, hence
max; an empty queue is 0 there, so that nothing at all means that nobody knows.
*/}}
{{- define "turnwise.backlogExpression" -}}
sum(max by (queue) (turnwise_backlog{queue=~"{{ join "|" .worker.queues }}",{{ .selector }}}))
{{- end }}

{{/* What keeps the number of replicas from jumping down; takes the root. */}}
{{- define "turnwise.scalingBehavior" -}}
scaleDown:
  stabilizationWindowSeconds: {{ .Values.autoscaling.scaleDownSeconds }}
  policies: [{type: Pods, value: {{ .Values.autoscaling.scaleDownPods }}, periodSeconds: 60}]
scaleUp:
  stabilizationWindowSeconds: 0
  policies: [{type: Percent, value: 100, periodSeconds: 15}, {type: Pods, value: 4, periodSeconds: 15}]
  selectPolicy: Max
{{- end }}

{{/*
The most connections that all processes of the release may hold to PostgreSQL: of each its pool, and one for the heartbeat. The
children of a prefork worker count each. Takes the root.
*/}}
{{- define "turnwise.connections" -}}
{{- $each := add1 (default "20" (get .Values.settings "DATABASE_CONNECTIONS") | int) }}
{{- $gateways := ternary .Values.gateway.autoscaling.maxReplicas .Values.gateway.replicas .Values.gateway.autoscaling.enabled }}
{{- $processes := add $gateways .Values.coordinator.replicas }}
{{- range .Values.workers }}
{{- $worker := include "turnwise.worker" (dict "root" $ "worker" .) | fromJson }}
{{- $scaled := and $worker.scaling.enabled (ne $.Values.autoscaling.kind "none") }}
{{- $replicas := ternary $worker.scaling.maxReplicas $worker.replicas $scaled | int }}
{{- $processes = add $processes (mul $replicas (ternary (add1 $worker.concurrency) 1 (eq $worker.pool "prefork"))) }}
{{- end }}
{{- mul $processes $each }}
{{- end }}
