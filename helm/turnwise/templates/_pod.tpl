{{/* `pod` with the component's own keys over it, as JSON; takes a dict of root and values, the component's. */}}
{{- define "turnwise.podValues" -}}
{{- $pod := deepCopy .root.Values.pod }}
{{- range $key, $value := .values.pod }}
{{- $_ := set $pod $key $value }}
{{- end }}
{{- $pod | toJson }}
{{- end }}

{{/* Labels and annotations of a pod; takes a dict of root, component, values and port, that of /metrics if it has one. */}}
{{- define "turnwise.podMetadata" -}}
{{- $pod := include "turnwise.podValues" . | fromJson -}}
labels:
  # Without the chart's version: a new chart with the same images is no reason to start pods anew.
  {{- include "turnwise.selector" . | nindent 2 }}
  {{- with merge (dict) $pod.labels .root.Values.commonLabels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- $annotations := dict }}
{{- if and .port .root.Values.monitoring.annotations }}
{{- $annotations = dict "prometheus.io/scrape" "true" "prometheus.io/path" "/metrics" "prometheus.io/port" (toString .port) }}
{{- end }}
{{- if and .port .root.Values.evaluation.enabled }}
{{- $_ := set $annotations "checksum/evaluation" (.root.Values.evaluation | toJson | sha256sum) }}
{{- end }}
{{- with merge (dict) $pod.annotations $annotations .root.Values.commonAnnotations }}
annotations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* A Deployment but for its replicas, selector and pods; takes what "turnwise.podValues" takes. */}}
{{- define "turnwise.deployment" -}}
{{- $deployment := deepCopy .root.Values.deployment }}
{{- range $key, $value := .values.deployment }}
{{- $_ := set $deployment $key $value }}
{{- end -}}
revisionHistoryLimit: {{ $deployment.revisionHistoryLimit }}
minReadySeconds: {{ $deployment.minReadySeconds }}
progressDeadlineSeconds: {{ $deployment.progressDeadlineSeconds }}
strategy:
  {{- /* Helm merges maps, so numbers of a rolling update may be left over, which Kubernetes refuses beside Recreate. */}}
  {{- ternary (pick $deployment.strategy "type") $deployment.strategy (eq $deployment.strategy.type "Recreate") | toYaml | nindent 2 }}
{{- end }}

{{/*
A pod but for its containers; takes a dict of root, component, values and account ("": the namespace's default), and of a
pool that has an account of its own, accountName.
*/}}
{{- define "turnwise.pod" -}}
{{- $pod := include "turnwise.podValues" . | fromJson -}}
{{- $scope := . -}}
{{- if .account }}serviceAccountName: {{ include "turnwise.serviceAccount" (dict "root" .root "account" .account "name" .accountName) }}
{{ end -}}
automountServiceAccountToken: false
# A Service called turnwise would otherwise set variables that begin like our settings.
enableServiceLinks: false
securityContext: {{- toYaml $pod.securityContext | nindent 2 }}
{{- with .root.Values.images.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- with $pod.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with $pod.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $pod.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $pod.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $pod.topologySpread }}
topologySpreadConstraints:
  {{- range . }}
  - topologyKey: {{ .topologyKey }}
    maxSkew: {{ .maxSkew }}
    whenUnsatisfiable: {{ .whenUnsatisfiable }}
    labelSelector:
      matchLabels:
        {{- include "turnwise.selector" $scope | nindent 8 }}
  {{- end }}
{{- end }}
{{- with $pod.extraSpec }}
{{ toYaml . }}
{{- end }}
volumes:
  - name: tmp
    emptyDir: {}
  {{- if eq (toString .values.pool) "prefork" }}
  - name: metrics
    emptyDir: {}
  {{- end }}
  {{- with .root.Values.brokerTls.secret }}
  - name: broker-tls
    secret:
      secretName: {{ . }}
      defaultMode: 0440
  {{- end }}
  {{- with $pod.extraVolumes }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}

{{/* A container but for its command and environment; takes what "turnwise.pod" takes. */}}
{{- define "turnwise.container" -}}
{{- $pod := include "turnwise.podValues" . | fromJson -}}
imagePullPolicy: {{ .root.Values.images.pullPolicy }}
securityContext: {{- toYaml $pod.containerSecurityContext | nindent 2 }}
{{- with $pod.extraEnvFrom }}
envFrom: {{- toYaml . | nindent 2 }}
{{- end }}
volumeMounts:
  - name: tmp
    mountPath: /tmp
  {{- if eq (toString .values.pool) "prefork" }}
  - name: metrics
    mountPath: /var/run/turnwise-metrics
  {{- end }}
  {{- if .root.Values.brokerTls.secret }}
  - name: broker-tls
    mountPath: /etc/turnwise/broker
    readOnly: true
  {{- end }}
  {{- with $pod.extraVolumeMounts }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}

{{/* Containers beside ours, in pods that run for ever; takes what "turnwise.pod" takes. */}}
{{- define "turnwise.extraContainers" -}}
{{- with (include "turnwise.podValues" . | fromJson).extraContainers }}
{{- toYaml . }}
{{- end }}
{{- end }}

{{/*
Ports and probes; takes what "turnwise.pod" takes, and name and port. A process that is deaf, so that its broker brings it
nothing, is not ready; one that only a restart can help is not alive either (docs/operations.md).
*/}}
{{- define "turnwise.probes" -}}
ports:
  - name: {{ .name }}
    containerPort: {{ .port }}
startupProbe:
  httpGet: {path: /health/live, port: {{ .name }}}
  periodSeconds: 2
  timeoutSeconds: 3
  failureThreshold: {{ div (add (include "turnwise.podValues" . | fromJson).startupSeconds 1) 2 }}
readinessProbe:
  httpGet: {path: /health/ready, port: {{ .name }}}
  periodSeconds: 5
  timeoutSeconds: 5
livenessProbe:
  httpGet: {path: /health/live, port: {{ .name }}}
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 3
{{- end }}

{{/*
Yours come first: what they bring (a proxy to the database, a file) is what the migration may need. Where no hook brings the
schema up to date, each pod does before it starts: that is safe to run from many at once. The evaluation's servers start
with the pods, so these wait for them. Takes what "turnwise.pod" takes, and image.
*/}}
{{- define "turnwise.initContainers" -}}
{{- $migrates := eq (include "turnwise.migrateMode" .root) "init" }}
{{- $extra := (include "turnwise.podValues" . | fromJson).extraInitContainers }}
{{- if or $migrates $extra }}
initContainers:
  {{- with $extra }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
  {{- if $migrates }}
  - name: migrate
    image: {{ include "turnwise.image" . }}
    {{- if .root.Values.evaluation.enabled }}
    command: [sh, -c]
    args:
      - >-
        until turnwise migrate
        && python -c 'import socket; socket.create_connection(("{{ include "turnwise.fullname" .root }}-rabbitmq", 5672), 3)';
        do sleep 2; done
    {{- else }}
    args: [migrate]
    {{- end }}
    {{- include "turnwise.container" . | nindent 4 }}
    env:
      {{- include "turnwise.env" .root | nindent 6 }}
      {{- with include "turnwise.extraEnv" . }}
      {{- . | nindent 6 }}
      {{- end }}
    resources: {{- toYaml .root.Values.migrate.resources | nindent 6 }}
  {{- end }}
{{- end }}
{{- end }}
