{{- define "turnwise.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/* The start of every object's name, short enough for the longest suffix (-worker- and a pool's name). */}}
{{- define "turnwise.fullname" -}}
{{- $name := include "turnwise.name" . }}
{{- $full := ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) }}
{{- default $full .Values.fullnameOverride | trunc 24 | trimSuffix "-" }}
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

{{/* Takes a dict of root and image, the repository's key in .Values.images. */}}
{{- define "turnwise.image" -}}
{{- $images := .root.Values.images }}
{{- with $images.registry }}{{ trimSuffix "/" . }}/{{ end }}{{ get $images .image }}:{{ default .root.Chart.AppVersion $images.tag }}
{{- end }}

{{/* Takes a dict of root and account: gateway, coordinator or workers. */}}
{{- define "turnwise.serviceAccount" -}}
{{- $made := printf "%s-%s" (include "turnwise.fullname" .root) .account }}
{{- default (ternary $made "default" .root.Values.serviceAccounts.create) (get .root.Values.serviceAccounts .account) }}
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
{{- $pool | toJson }}
{{- end }}

{{/* hook, init or none: before an installation there is no database of the evaluation mode, so a hook can not be. */}}
{{- define "turnwise.migrateMode" -}}
{{- ternary "init" .Values.migrate.mode .Values.evaluation.enabled }}
{{- end }}
