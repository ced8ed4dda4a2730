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
The expression of an alert with other numbers where it compares or multiplies; takes a dict of rule and thresholds, which has
the new number by the old one. So the files in deploy/prometheus stay the only source of the expressions.
*/}}
{{- define "turnwise.thresholds" -}}
{{- $expr := .rule.expr }}
{{- $number := "[0-9]+(\\.[0-9]+)?(e-?[0-9]+)?" }}
{{- $place := printf "(==|!=|>=|<=|>|<|\\*)\\s*(bool\\s+)?%s" $number }}
{{- $found := regexFindAll $place $expr -1 }}
{{- $rest := regexSplit $place $expr -1 }}
{{- $made := first $rest }}
{{- $left := .thresholds }}
{{- range $at, $old := $found }}
{{- $before := regexFind (printf "%s$" $number) $old }}
{{- $operator := trimSuffix $before $old }}
{{- $left = omit $left $before }}
{{- $made = printf "%s%s%v%s" $made $operator (ternary (get $.thresholds $before) $before (hasKey $.thresholds $before)) (index $rest (add1 $at | int)) }}
{{- end }}
{{- range $old, $_ := $left }}
{{- fail (printf "monitoring.rules.alerts.%s.thresholds has %s, but its expression compares with no such number: %s" $.rule.alert $old $expr) }}
{{- end }}
{{- $made }}
{{- end }}
