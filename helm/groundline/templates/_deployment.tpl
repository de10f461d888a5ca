{{- /* The Deployment of one role. The three differ in ports, secrets and devices only. */ -}}
{{- define "groundline.deployment" -}}
{{- $root := .root }}{{ $role := .role }}{{ $settings := .settings }}
{{- $values := $root.Values }}
{{- $isGateway := eq $role "gateway" }}{{ $isWorker := eq $role "worker" }}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "groundline.name" $root }}-{{ $role }}
  labels: {{- include "groundline.labels" . | nindent 4 }}
spec:
  replicas: {{ $settings.replicas }}
  selector:
    matchLabels: {{- include "groundline.selector" . | nindent 6 }}
  strategy:
    rollingUpdate:
      {{- if and $isWorker $settings.gpu.enabled }}
      # A new pod would wait for the device that the old one holds.
      maxSurge: 0
      maxUnavailable: 1
      {{- else }}
      maxSurge: 1
      maxUnavailable: 0
      {{- end }}
  template:
    metadata:
      labels: {{- include "groundline.labels" . | nindent 8 }}
      annotations:
        checksum/config: {{ include (print $root.Template.BasePath "/configmap.yaml") $root | sha256sum }}
        {{- with $settings.podAnnotations }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
    spec:
      serviceAccountName: {{ include "groundline.serviceAccount" $root }}
      automountServiceAccountToken: false
      enableServiceLinks: false
      # Longer than the wait before stopping and the longest drain together, so that nothing is killed that would have finished.
      terminationGracePeriodSeconds: {{ add (int $settings.preStopSeconds) (int $settings.drainSeconds) (int $values.graceMarginSeconds) }}
      securityContext:
        runAsNonRoot: true
        runAsUser: 65532
        runAsGroup: 65532
        fsGroup: 65532
        seccompProfile:
          type: RuntimeDefault
      {{- with $values.image.pullSecrets }}
      imagePullSecrets: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- if $isWorker }}
      {{- with $settings.gpu.runtimeClassName }}
      runtimeClassName: {{ . }}
      {{- end }}
      {{- end }}
      {{- with $settings.priorityClassName }}
      priorityClassName: {{ . }}
      {{- end }}
      {{- with $settings.nodeSelector }}
      nodeSelector: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $settings.tolerations }}
      tolerations: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $settings.topologySpreadConstraints }}
      topologySpreadConstraints:
        {{- range . }}
        - {{- toYaml . | nindent 10 }}
          labelSelector:
            matchLabels: {{- include "groundline.selector" $ | nindent 14 }}
        {{- end }}
      {{- end }}
      containers:
        - name: {{ $role }}
          image: {{ include "groundline.image" . }}
          imagePullPolicy: {{ $values.image.pullPolicy }}
          args: [{{ $role }}, --config, /etc/groundline/groundline.toml]
          securityContext:
            allowPrivilegeEscalation: false
            readOnlyRootFilesystem: true
            capabilities:
              drop: [ALL]
          env: {{- include "groundline.env" . | nindent 12 }}
          ports:
            {{- if $isGateway }}
            - name: main
              containerPort: {{ include "groundline.mainPort" $root }}
              protocol: TCP
            {{- end }}
            - name: admin
              containerPort: {{ include "groundline.adminPort" $root }}
              protocol: TCP
          startupProbe:
            httpGet: {path: /startupz, port: admin}
            periodSeconds: 5
            failureThreshold: {{ if $isWorker }}{{ max 1 (div (int $settings.startupSeconds) 5) }}{{ else }}24{{ end }}
          readinessProbe:
            httpGet: {path: /readyz, port: admin}
            periodSeconds: 2
            timeoutSeconds: 2
            failureThreshold: 2
          livenessProbe:
            # Fails where nothing moves any more, not where there is much to do; three misses, so that a busy node is no death.
            httpGet: {path: /livez, port: admin}
            periodSeconds: 10
            timeoutSeconds: 5
            failureThreshold: 3
          {{- if gt (int $settings.preStopSeconds) 0 }}
          lifecycle:
            preStop:
              sleep:
                seconds: {{ $settings.preStopSeconds }}
          {{- end }}
          resources: {{- include "groundline.resources" . | nindent 12 }}
          volumeMounts: {{- include "groundline.mounts" . | nindent 12 }}
      volumes: {{- include "groundline.volumes" . | nindent 8 }}
{{- end -}}

{{- define "groundline.resources" -}}
{{- $resources := deepCopy .settings.resources -}}
{{- if and (eq .role "worker") .settings.gpu.enabled -}}
{{- $device := dict .settings.gpu.resourceName (int .settings.gpu.count) -}}
{{- $_ := set $resources "limits" (merge $device (default dict $resources.limits)) -}}
{{- end -}}
{{- toYaml $resources -}}
{{- end -}}

{{- define "groundline.mounts" -}}
- name: config
  mountPath: /etc/groundline
  readOnly: true
- name: tmp
  mountPath: /tmp
{{- if .root.Values.nats.credentialsSecret }}
- name: nats-credentials
  mountPath: /etc/groundline-nats
  readOnly: true
{{- end }}
{{- if .root.Values.nats.caSecret }}
- name: nats-ca
  mountPath: /etc/groundline-nats-ca
  readOnly: true
{{- end }}
{{- if eq .role "gateway" }}
{{- if .settings.keysSecret }}
- name: keys
  mountPath: /etc/groundline-keys
  readOnly: true
{{- end }}
{{- if .settings.tlsSecret }}
- name: tls
  mountPath: /etc/groundline-tls
  readOnly: true
{{- end }}
{{- end }}
{{- if .root.Values.models.claim }}
- name: models
  mountPath: /models
  readOnly: true
{{- end }}
{{- end -}}

{{- define "groundline.volumes" -}}
- name: config
  configMap:
    name: {{ include "groundline.name" .root }}
- name: tmp
  emptyDir:
    sizeLimit: 256Mi
{{- with .root.Values.nats.credentialsSecret }}
- name: nats-credentials
  secret:
    secretName: {{ . }}
    # A role sees its own credentials only.
    items:
      - key: {{ $.role }}
        path: user.creds
{{- end }}
{{- with .root.Values.nats.caSecret }}
- name: nats-ca
  secret:
    secretName: {{ . }}
    items:
      - key: ca.crt
        path: ca.crt
{{- end }}
{{- if eq .role "gateway" }}
{{- with .settings.keysSecret }}
- name: keys
  secret:
    secretName: {{ . }}
    items:
      - key: keys
        path: keys
{{- end }}
{{- with .settings.tlsSecret }}
- name: tls
  secret:
    secretName: {{ . }}
{{- end }}
{{- end }}
{{- with .root.Values.models.claim }}
- name: models
  persistentVolumeClaim:
    claimName: {{ . }}
    readOnly: true
{{- end }}
{{- end -}}
