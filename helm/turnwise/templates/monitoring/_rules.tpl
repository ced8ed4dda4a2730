{{/*
A rule with what `monitoring.rules.alerts` changes of it, as an item of a list; nothing where the alert is switched off. Takes
a dict of rule, changes and labels, those of all alerts.
*/}}
{{- define "turnwise.rule" -}}
{{- $rule := deepCopy .rule }}
{{- $changes := default dict .changes }}
{{- if ne (toString (get $changes "enabled")) "false" }}
{{- if $rule.alert }}
{{- $_ := set $rule "labels" (merge (dict) (default dict $changes.labels) .labels (default dict $rule.labels)) }}
{{- end }}
{{- with $changes.for }}{{ $_ := set $rule "for" . }}{{ end }}
{{- with $changes.thresholds }}
{{- $_ := set $rule "expr" (include "turnwise.thresholds" (dict "rule" $rule "thresholds" .)) }}
{{- end }}
{{- list $rule | toYaml }}
{{- end }}
{{- end }}

{{/*
The expression of an alert with other numbers behind its comparisons, in their order; takes a dict of rule and thresholds.
So the files in deploy/prometheus stay the only source of the expressions.
*/}}
{{- define "turnwise.thresholds" -}}
{{- $comparison := "(==|!=|>=|<=|>|<)\\s*(bool\\s+)?[0-9]+(\\.[0-9]+)?(e-?[0-9]+)?" }}
{{- $found := regexFindAll $comparison .rule.expr -1 }}
{{- $rest := regexSplit $comparison .rule.expr -1 }}
{{- if gt (len .thresholds) (len $found) }}
{{- fail (printf "monitoring.rules.alerts.%s has %d thresholds, but its expression compares with %d numbers: %s" .rule.alert (len .thresholds) (len $found) .rule.expr) }}
{{- end }}
{{- $made := first $rest }}
{{- range $number, $old := $found }}
{{- $new := $old }}
{{- if lt $number (len $.thresholds) }}
{{- $new = printf "%s %v" (regexFind "^(==|!=|>=|<=|>|<)(\\s*bool)?" $old) (index $.thresholds $number) }}
{{- end }}
{{- $made = printf "%s%s%s" $made $new (index $rest (add1 $number | int)) }}
{{- end }}
{{- $made }}
{{- end }}
