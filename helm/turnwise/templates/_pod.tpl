{{/* `pod` with the component's own keys over it, as JSON; takes a dict of root and values, the component's. */}}
{{- define "turnwise.podValues" -}}
{{- $pod := deepCopy .root.Values.pod }}
{{- range $key, $value := .values.pod }}
{{- $_ := set $pod $key $value }}
{{- end }}
{{- $pod | toJson }}
{{- end }}

{{/* Labels and annotations of a pod; takes a dict of root, component, values and port, that of /metrics. */}}
{{- define "turnwise.podMetadata" -}}
{{- $pod := include "turnwise.podValues" . | fromJson -}}
labels:
  # Without the chart's version: a new chart with the same images is no reason to start pods anew.
  {{- include "turnwise.selector" . | nindent 2 }}
  {{- with $pod.labels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- $annotations := dict }}
{{- if .root.Values.monitoring.annotations }}
{{- $annotations = dict "prometheus.io/scrape" "true" "prometheus.io/path" "/metrics" "prometheus.io/port" (toString .port) }}
{{- end }}
{{- if .root.Values.evaluation.enabled }}
{{- $_ := set $annotations "checksum/evaluation" (.root.Values.evaluation | toJson | sha256sum) }}
{{- end }}
{{- with merge (deepCopy $pod.annotations) $annotations }}
annotations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* What no pod of ours may do without. */}}
{{- define "turnwise.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
seccompProfile: {type: RuntimeDefault}
{{- end }}

{{/* A pod but for its containers; takes a dict of root, component, values and account ("": the namespace's default). */}}
{{- define "turnwise.pod" -}}
{{- $pod := include "turnwise.podValues" . | fromJson -}}
{{- $scope := . -}}
{{- if .account }}serviceAccountName: {{ include "turnwise.serviceAccount" . }}
{{ end -}}
automountServiceAccountToken: false
# A Service called turnwise would otherwise set variables that begin like our settings.
enableServiceLinks: false
securityContext:
  {{- include "turnwise.podSecurity" . | nindent 2 }}
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
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
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

{{/*
Ports and probes; takes a dict of name and port. A process that is deaf, so that its broker brings it nothing, is not
ready; one that only a restart can help is not alive either (docs/operations.md).
*/}}
{{- define "turnwise.probes" -}}
ports:
  - name: {{ .name }}
    containerPort: {{ .port }}
startupProbe:
  httpGet: {path: /health/live, port: {{ .name }}}
  periodSeconds: 2
  timeoutSeconds: 3
  failureThreshold: 30
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
Where no hook brings the schema up to date, each pod does before it starts: that is safe to run from many at once.
The evaluation's servers start with the pods, so these wait for them. Takes what "turnwise.pod" takes, and image.
*/}}
{{- define "turnwise.initContainers" -}}
{{- if eq (include "turnwise.migrateMode" .root) "init" -}}
initContainers:
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
