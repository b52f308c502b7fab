{{- define "metalogue.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "metalogue.labels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "metalogue.environment" -}}
- { name: METALOGUE_LOG, value: {{ .Values.log | quote }} }
- { name: METALOGUE_BACKBONE, value: {{ .Values.backbone | quote }} }
- { name: METALOGUE_POLICY, value: {{ .Values.policy | quote }} }
- { name: METALOGUE_MAX_CONCURRENCY, value: {{ .Values.maxConcurrency | quote }} }
- { name: METALOGUE_MAX_CONNECTIONS, value: {{ .Values.maxConnections | quote }} }
- { name: METALOGUE_KAFKA__SESSION_MS, value: {{ .Values.sessionMs | quote }} }
{{- range $name, $value := .Values.environment }}
- { name: {{ $name }}, value: {{ $value | quote }} }
{{- end }}
{{- end }}

{{- define "metalogue.secrets" -}}
{{- range .Values.secrets }}
- secretRef: { name: {{ . }} }
{{- end }}
{{- end }}

{{- define "metalogue.security" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
runAsNonRoot: true
runAsUser: 10001
capabilities: { drop: [ALL] }
{{- end }}

{{/* The group and topic of a log: the URL's last part is a prefix. */}}
{{- define "metalogue.prefix" -}}
{{- $parts := splitList "/" (trimPrefix "kafka://" .Values.log) -}}
{{- if gt (len $parts) 1 }}{{ last $parts }}.{{ end -}}
{{- end }}

{{- define "metalogue.servers" -}}
{{ first (splitList "/" (trimPrefix "kafka://" .Values.log)) }}
{{- end }}
