{{- define "turnwise.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/*
The start of every object's name. At most 24 characters, so that the longest suffix (-worker- and a pool's name) fits into
the 63 of a label. A longer one ends in a hash, or two releases with one beginning would have the same objects.
*/}}
{{- define "turnwise.fullname" -}}
{{- $name := include "turnwise.name" . }}
{{- $full := ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) }}
{{- $full = default $full .Values.fullnameOverride | replace "." "-" }}
{{- if gt (len $full) 24 }}
{{- $full = printf "%s-%s" ($full | trunc 18 | trimSuffix "-") ($full | sha256sum | trunc 5) }}
{{- end }}
{{- $full }}
{{- end }}

{{/* What all objects of a release have in common; takes the root. */}}
{{- define "turnwise.releaseSelector" -}}
app.kubernetes.io/name: {{ include "turnwise.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{/* What selects the pods of one component; takes a dict of root and component. Never changes over a release's life. */}}
{{- define "turnwise.selector" -}}
{{ include "turnwise.releaseSelector" .root }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "turnwise.labels" -}}
{{ include "turnwise.selector" . }}
app.kubernetes.io/part-of: turnwise
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{- end }}

{{/*
The metadata of an object; takes a dict of root, component, the name's suffix ("" for none), and further labels and
annotations of this object.
*/}}
{{- define "turnwise.metadata" -}}
name: {{ include "turnwise.fullname" .root }}{{ with .suffix }}-{{ . }}{{ end }}
labels:
  {{- include "turnwise.labels" . | nindent 2 }}
  {{- with merge (dict) (default dict .labels) .root.Values.commonLabels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with merge (dict) (default dict .annotations) .root.Values.commonAnnotations }}
annotations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* Takes a dict of root and image, the repository's key in .Values.images. A digest goes before the tag. */}}
{{- define "turnwise.image" -}}
{{- $images := .root.Values.images }}
{{- $digest := get $images.digests .image }}
{{- with $images.registry }}{{ trimSuffix "/" . }}/{{ end }}{{ get $images .image }}{{ if $digest }}@{{ $digest }}{{ else }}:{{ default .root.Chart.AppVersion $images.tag }}{{ end }}
{{- end }}

{{/* Takes a dict of root and account (gateway, coordinator or workers), and name, one that exists already, if any. */}}
{{- define "turnwise.serviceAccount" -}}
{{- $accounts := .root.Values.serviceAccounts }}
{{- $made := printf "%s-%s" (include "turnwise.fullname" .root) .account }}
{{- coalesce .name (get $accounts .account).name (ternary $made "default" $accounts.create) }}
{{- end }}

{{/*
A pool of `workers` with the defaults under it, as JSON; takes a dict of root and worker. Its keys replace those of the
defaults, and those of its `scaling` likewise; Helm's own merging would take false and 0 for left out.
*/}}
{{- define "turnwise.worker" -}}
{{- $pool := deepCopy .root.Values.workerDefaults }}
{{- range $key, $value := omit .worker "scaling" }}
{{- $_ := set $pool $key $value }}
{{- end }}
{{- range $key, $value := .worker.scaling }}
{{- $_ := set $pool.scaling $key $value }}
{{- end }}
{{- if and (include "turnwise.demo" .root) (regexMatch "(^|,)agent" (join "," $pool.queues)) }}
{{- $_ := set $pool "replicas" 1 }}
{{- $_ := set $pool.scaling "enabled" false }}
{{- end }}
{{- $pool | toJson }}
{{- end }}

{{/* Not empty where the evaluation mode runs the demo: it keeps its books in one pod, that of the tool handlers. */}}
{{- define "turnwise.demo" -}}
{{- if and .Values.evaluation.enabled (eq .Values.app "turnwise.demo.app:app") }}true{{ end }}
{{- end }}

{{/* Not empty where the evaluation mode answers with the scripted model, for want of another one. */}}
{{- define "turnwise.scripted" -}}
{{- if and .Values.evaluation.enabled (not .Values.openaiBaseUrl) }}true{{ end }}
{{- end }}

{{/* The path that proxies put before everything, without the last slash; "" for none. The checks see that all agree. */}}
{{- define "turnwise.rootPath" -}}
{{- $paths := list .Values.gateway.rootPath }}
{{- if .Values.ingress.enabled }}{{ $paths = append $paths .Values.ingress.path }}{{ end }}
{{- if .Values.httpRoute.enabled }}{{ $paths = append $paths .Values.httpRoute.path }}{{ end }}
{{- range $path := $paths }}
{{- if ne (trimSuffix "/" $path) "" }}{{ $paths = list (trimSuffix "/" $path) }}{{ end }}
{{- end }}
{{- first $paths | trimSuffix "/" }}
{{- end }}

{{/* hook, init or none: before an installation there is no database of the evaluation mode, so a hook cannot be. */}}
{{- define "turnwise.migrateMode" -}}
{{- ternary "init" .Values.migrate.mode .Values.evaluation.enabled }}
{{- end }}
