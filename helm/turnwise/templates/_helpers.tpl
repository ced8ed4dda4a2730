{{- define "turnwise.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/* The start of every object's name, short enough for the longest suffix (-worker- and a worker's name). */}}
{{- define "turnwise.fullname" -}}
{{- $name := include "turnwise.name" . }}
{{- $full := ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) }}
{{- default $full .Values.fullnameOverride | trunc 24 | trimSuffix "-" }}
{{- end }}

{{- define "turnwise.serviceAccount" -}}
{{- default (ternary (include "turnwise.fullname" .) "default" .Values.serviceAccount.create) .Values.serviceAccount.name }}
{{- end }}

{{/* What selects the pods of one component; takes a dict of root and component. Never changes over a release's life. */}}
{{- define "turnwise.selector" -}}
app.kubernetes.io/name: {{ include "turnwise.name" .root }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "turnwise.labels" -}}
{{ include "turnwise.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{- end }}

{{/* Takes a dict of root and the repository's key in .Values.images. */}}
{{- define "turnwise.image" -}}
{{- $images := .root.Values.images }}
{{- with $images.registry }}{{ trimSuffix "/" . }}/{{ end }}{{ get $images .image }}:{{ default .root.Chart.AppVersion $images.tag }}
{{- end }}

{{/* An environment variable from a Secret; takes a dict of name, ref and, where the key may be missing, optional. */}}
{{- define "turnwise.secretEnv" -}}
- name: {{ .name }}
  valueFrom:
    secretKeyRef:
      name: {{ .ref.name }}
      key: {{ .ref.key }}
      {{- if .optional }}
      optional: true
      {{- end }}
{{- end }}

{{/* The environment that all processes share. */}}
{{- define "turnwise.env" -}}
- name: TURNWISE_APP
  value: {{ .Values.app | quote }}
{{ include "turnwise.secretEnv" (dict "name" "TURNWISE_DATABASE_URL" "ref" .Values.secrets.databaseUrl) }}
{{ include "turnwise.secretEnv" (dict "name" "TURNWISE_BROKER_URL" "ref" .Values.secrets.brokerUrl) }}
{{- range $name, $value := .Values.settings }}
- name: TURNWISE_{{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- end }}

{{/* Pod settings that do not depend on the component. */}}
{{- define "turnwise.pod" -}}
automountServiceAccountToken: false
# A Service called turnwise would otherwise set variables that begin like our settings.
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  seccompProfile: {type: RuntimeDefault}
{{- with .Values.images.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
volumes:
  - name: tmp
    emptyDir: {}
{{- end }}

{{/* Container settings that do not depend on the component. The root file system is read-only; /tmp can be written. */}}
{{- define "turnwise.container" -}}
imagePullPolicy: {{ .Values.images.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
volumeMounts:
  - name: tmp
    mountPath: /tmp
{{- end }}

{{/* Probes of a process without an API, on its metrics port. */}}
{{- define "turnwise.probes" -}}
ports:
  - name: metrics
    containerPort: 9090
startupProbe:
  httpGet: {path: /health/live, port: metrics}
  periodSeconds: 2
  failureThreshold: 30
livenessProbe:
  httpGet: {path: /health/live, port: metrics}
  periodSeconds: 10
  timeoutSeconds: 3
{{- end }}

{{/* Labels and annotations of a pod; takes a dict of root and component. Prometheus finds the port by them. */}}
{{- define "turnwise.podMetadata" -}}
labels:
  {{- include "turnwise.labels" (dict "root" .root "component" .component) | nindent 2 }}
  {{- with .root.Values.podLabels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
annotations:
  prometheus.io/scrape: "true"
  prometheus.io/path: /metrics
  prometheus.io/port: {{ .port | quote }}
  {{- with .root.Values.podAnnotations }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}
