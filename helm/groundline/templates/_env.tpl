{{- /* What the chart decides, as environment variables: they win over the file of `config`. */ -}}
{{- define "groundline.env" -}}
{{- $values := .root.Values -}}
{{- $drainMs := mul 1000 (int .settings.drainSeconds) -}}
- name: GROUNDLINE_NATS_URLS
  value: {{ $values.nats.url | quote }}
{{- if $values.nats.credentialsSecret }}
- name: GROUNDLINE_NATS_CREDENTIALS_FILE
  value: /etc/groundline-nats/user.creds
{{- end }}
{{- if $values.nats.caSecret }}
- name: GROUNDLINE_NATS_TLS_CA_FILE
  value: /etc/groundline-nats-ca/ca.crt
{{- end }}
{{- if $values.models.claim }}
- name: GROUNDLINE_MODEL_DIRS
  value: /models
{{- end }}
- name: GROUNDLINE_TELEMETRY_LOG_FORMAT
  value: {{ $values.telemetry.logFormat }}
{{- with $values.telemetry.otlpEndpoint }}
- name: GROUNDLINE_TELEMETRY_OTLP_ENDPOINT
  value: {{ . | quote }}
{{- end }}
- name: GROUNDLINE_GATEWAY_ADMIN_LISTEN
  value: "[::]:{{ include "groundline.adminPort" .root }}"
{{- if eq .role "gateway" }}
- name: GROUNDLINE_GATEWAY_LISTEN
  value: "[::]:{{ include "groundline.mainPort" .root }}"
- name: GROUNDLINE_GATEWAY_DRAIN_TIMEOUT_MS
  value: {{ $drainMs | quote }}
{{- if .settings.keysSecret }}
- name: GROUNDLINE_GATEWAY_KEYS_FILE
  value: /etc/groundline-keys/keys
{{- end }}
{{- if .settings.tlsSecret }}
- name: GROUNDLINE_GATEWAY_TLS_CERT_FILE
  value: /etc/groundline-tls/tls.crt
- name: GROUNDLINE_GATEWAY_TLS_KEY_FILE
  value: /etc/groundline-tls/tls.key
{{- end }}
{{- else if eq .role "coordinator" }}
- name: GROUNDLINE_COORDINATOR_STOP_TIMEOUT_MS
  value: {{ $drainMs | quote }}
{{- else }}
# Workers have no right to what a janitor does.
- name: GROUNDLINE_NATS_RUNS_JANITOR
  value: "false"
- name: GROUNDLINE_WORKER_DRAIN_TIMEOUT_MS
  value: {{ $drainMs | quote }}
{{- end }}
{{- with .settings.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}
