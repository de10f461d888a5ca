{{- define "groundline.name" -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{- define "groundline.serviceAccount" -}}
{{- if .Values.serviceAccount.name -}}{{ .Values.serviceAccount.name }}
{{- else if .Values.serviceAccount.create -}}{{ include "groundline.name" . }}
{{- else -}}default{{- end -}}
{{- end -}}

{{- define "groundline.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
{{ include "groundline.selector" . }}
{{- end -}}

{{- define "groundline.selector" -}}
app.kubernetes.io/name: {{ .root.Chart.Name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .role }}
{{- end -}}

{{- define "groundline.image" -}}
{{- $own := default dict .settings.image -}}
{{- $tag := default (default .root.Chart.AppVersion .root.Values.image.tag) $own.tag -}}
{{ default .root.Values.image.repository $own.repository }}:{{ $tag }}
{{- end -}}

{{- /* Ports of every role inside its pod. */ -}}
{{- define "groundline.mainPort" -}}8080{{- end -}}
{{- define "groundline.adminPort" -}}9090{{- end -}}
