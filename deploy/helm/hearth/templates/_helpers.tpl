{{- define "hearth.name" -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{- define "hearth.selector" -}}
app.kubernetes.io/name: hearth
app.kubernetes.io/instance: {{ include "hearth.name" . }}
{{- end -}}

{{- define "hearth.labels" -}}
{{ include "hearth.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- end -}}
