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

{{/* Where a secret value is, as JSON; takes a dict of root and key. The evaluation mode has its own. */}}
{{- define "turnwise.secretRef" -}}
{{- $keys := dict "databaseUrl" "database-url" "brokerUrl" "broker-url" "authToken" "auth-token" }}
{{- if and .root.Values.evaluation.enabled (hasKey $keys .key) }}
{{- dict "name" (printf "%s-evaluation" (include "turnwise.fullname" .root)) "key" (get $keys .key) | toJson }}
{{- else }}
{{- get .root.Values.secrets .key | toJson }}
{{- end }}
{{- end }}

{{/* Refuses a variable with our prefix that means nothing: it would be ignored; takes a dict of root and name. */}}
{{- define "turnwise.checkVariable" -}}
{{- if and (hasPrefix "TURNWISE_" .name) (not (has .name (.root.Files.Lines "files/settings.txt"))) }}
{{- fail (printf "%s is not a setting; files/settings.txt of the chart lists those that exist, and docs/configuration.md says what they mean" .name) }}
{{- end }}
{{- end }}

{{/* Refuses a variable that other parts of the pod have to agree with; takes its name. */}}
{{- define "turnwise.checkExtraVariable" -}}
{{- $from := dict
  "TURNWISE_DRAIN_SECONDS" "drainSeconds of a pool, which the pods' grace period follows"
  "TURNWISE_CONCURRENCY" "concurrency of a pool"
  "TURNWISE_ROOT_PATH" "gateway.rootPath, ingress.path or httpRoute.path"
  "TURNWISE_BIND" "the chart: probes and Services use the port"
  "TURNWISE_METRICS_BIND" "the chart: probes and Services use the port"
}}
{{- with get $from . }}
{{- fail (printf "%s is set by %s; take it out of extraEnv or env" $ .) }}
{{- end }}
{{- end }}

{{/* The environment that all processes share. */}}
{{- define "turnwise.env" -}}
- name: TURNWISE_APP
  value: {{ .Values.app | quote }}
{{ include "turnwise.secretEnv" (dict "name" "TURNWISE_DATABASE_URL" "ref" (include "turnwise.secretRef" (dict "root" . "key" "databaseUrl") | fromJson)) }}
{{ include "turnwise.secretEnv" (dict "name" "TURNWISE_BROKER_URL" "ref" (include "turnwise.secretRef" (dict "root" . "key" "brokerUrl") | fromJson)) }}
{{- if .Values.secrets.wireKeys.name }}
{{ include "turnwise.secretEnv" (dict "name" "TURNWISE_WIRE_KEYS" "ref" .Values.secrets.wireKeys) }}
{{- end }}
{{- if .Values.brokerTls.secret }}
{{- range $name, $key := pick .Values.brokerTls "ca" "cert" "key" }}
{{- if $key }}
- name: TURNWISE_BROKER_{{ upper $name }}
  value: /etc/turnwise/broker/{{ $key }}
{{- end }}
{{- end }}
{{- end }}
{{- if eq .Values.app "turnwise.demo.app:app" }}
# The demo's books: the root file system cannot be written to.
- name: TURNWISE_DEMO_DIR
  value: /tmp/demo
{{- end }}
{{- if include "turnwise.scripted" . }}
- name: TURNWISE_DEMO_MODEL
  value: turnwise-fake
{{- end }}
{{- range $name, $value := .Values.settings }}
{{- include "turnwise.checkVariable" (dict "root" $ "name" (printf "TURNWISE_%s" $name)) }}
- name: TURNWISE_{{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- end }}

{{/* Where the models are, for workers; takes the root. */}}
{{- define "turnwise.modelEnv" -}}
{{- if include "turnwise.scripted" . -}}
- name: OPENAI_API_KEY
  value: not-needed-by-the-scripted-model
- name: OPENAI_BASE_URL
  value: http://{{ include "turnwise.fullname" . }}-model:8090/v1
{{- else -}}
{{ include "turnwise.secretEnv" (dict "name" "OPENAI_API_KEY" "ref" .Values.secrets.openaiApiKey "optional" true) }}
{{- with .Values.openaiBaseUrl }}
- name: OPENAI_BASE_URL
  value: {{ . | quote }}
{{- end }}
{{- end }}
{{- end }}

{{/* What comes last, so that it wins: of the component, then of all pods; takes a dict of root and values. */}}
{{- define "turnwise.extraEnv" -}}
{{- $pod := include "turnwise.podValues" . | fromJson }}
{{- $root := .root }}
{{- range concat $pod.extraEnv .values.env }}
{{- include "turnwise.checkVariable" (dict "root" $root "name" .name) }}
{{- include "turnwise.checkExtraVariable" .name }}
{{- end }}
{{- with concat $pod.extraEnv .values.env }}
{{- toYaml . }}
{{- end }}
{{- end }}
