{{- define "matchwire.name" -}}
{{- if contains "matchwire" .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}{{ else }}{{ printf "%s-matchwire" .Release.Name | trunc 50 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "matchwire.selector" -}}
app.kubernetes.io/name: matchwire
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "matchwire.labels" -}}
{{ include "matchwire.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "matchwire.image" -}}
{{ printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) }}
{{- end }}

{{/* So many hundredths of a volume in bytes, and at most so many GiB. Argument: size, such as 20Gi; share, max. */}}
{{- define "matchwire.share" -}}
{{- $gibibytes := ternary (mul 1024 (trimSuffix "Ti" .size | int64)) (trimSuffix "Gi" .size | int64) (hasSuffix "Ti" .size) -}}
{{ min (mul .max 1073741824) (div (mul $gibibytes 1073741824 .share) 100) }}
{{- end }}

{{/* What is the same for every container: its image, its rights and its environment. Argument: root, role. */}}
{{- define "matchwire.container" -}}
image: {{ include "matchwire.image" .root | quote }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
env:
  - {name: MATCHWIRE_SERVER_LISTEN, value: "0.0.0.0:8080"}
  - {name: MATCHWIRE_DEMO_ENABLED, value: "false"}
  {{- $size := ternary .root.Values.edges.volumeSize .root.Values.persistence.size (eq .role "edge") }}
  {{- if not (contains "records_bytes_max" .root.Values.settings) }}
  - {name: MATCHWIRE_LOG_RECORDS_BYTES_MAX, value: {{ include "matchwire.share" (dict "size" $size "share" 20 "max" 8) | quote }}}
  {{- end }}
  {{- if not (contains "films_bytes_max" .root.Values.settings) }}
  - {name: MATCHWIRE_LOG_FILMS_BYTES_MAX, value: {{ include "matchwire.share" (dict "size" $size "share" 40 "max" 32) | quote }}}
  {{- end }}
  {{- with .root.Values.publicUrl }}
  - {name: MATCHWIRE_SERVER_PUBLIC_URL, value: {{ . | quote }}}
  {{- end }}
  {{- if .root.Values.cluster.enabled }}
  - name: MATCHWIRE_CLUSTER_NODE
    valueFrom: {fieldRef: {fieldPath: metadata.name}}
  - {name: MATCHWIRE_CLUSTER_NAME, value: {{ .root.Values.cluster.name | quote }}}
  - {name: MATCHWIRE_CLUSTER_ROLE, value: {{ .role | quote }}}
  - {name: MATCHWIRE_CLUSTER_NATS, value: {{ required "cluster.nats is required with cluster.enabled" (join "," .root.Values.cluster.nats) | quote }}}
  - {name: MATCHWIRE_CLUSTER_REPLICAS, value: {{ .root.Values.cluster.replicas | quote }}}
  {{- with .root.Values.cluster.natsUser }}
  - {name: MATCHWIRE_CLUSTER_NATS_USER, value: {{ . | quote }}}
  {{- end }}
  - {name: MATCHWIRE_SERVER_DB, value: {{ required "cluster.db is required with cluster.enabled" .root.Values.cluster.db | quote }}}
  {{- end }}
  {{- with .root.Values.extraEnv }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with .root.Values.existingSecret }}
envFrom:
  - secretRef: {name: {{ . | quote }}}
{{- end }}
{{- end }}

{{- define "matchwire.podSecurity" -}}
automountServiceAccountToken: false
# A service named `matchwire` would become variables that begin with MATCHWIRE_, and the hub rejects unknown ones.
enableServiceLinks: false
{{- with .Values.image.pullSecrets }}
imagePullSecrets: {{ toYaml . | nindent 2 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  # So that the hub can write to its volume.
  fsGroup: 10001
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: {type: RuntimeDefault}
{{- end }}

{{/* A pod that serves. Argument: root, role, component, values (`writers` or `edges`). */}}
{{- define "matchwire.pod" -}}
metadata:
  labels:
    {{- include "matchwire.labels" .root | nindent 4 }}
    app.kubernetes.io/component: {{ .component }}
    matchwire/serves: {{ ne .role "writer" | quote }}
  annotations:
    # Other settings start other pods.
    checksum/settings: {{ .root.Values.settings | sha256sum }}
spec:
  {{- include "matchwire.podSecurity" .root | nindent 2 }}
  terminationGracePeriodSeconds: {{ .root.Values.shutdown.gracePeriodSeconds }}
  containers:
    - name: matchwire
      {{- include "matchwire.container" . | nindent 6 }}
      args: [serve, --config, /etc/matchwire/matchwire.toml]
      ports:
        - {name: http, containerPort: 8080}
      # The log and the state are read first, and a node of a cluster waits for NATS.
      startupProbe:
        httpGet: {path: /healthz, port: http}
        periodSeconds: 2
        # An hour: an upgrade may have to convert a large database.
        failureThreshold: 1800
      readinessProbe:
        httpGet: {path: /readyz, port: http}
        periodSeconds: 2
        timeoutSeconds: 2
        failureThreshold: 1
      # Not /readyz: a hub that waits for its disk or for NATS recovers by itself.
      livenessProbe:
        httpGet: {path: /healthz, port: http}
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 3
      lifecycle:
        # Meanwhile Kubernetes takes the pod out of the Service. Then the hub gets SIGTERM and sends its clients away, spread
        # over server.drain_ms, so they reconnect to another pod: what `matchwire cluster drain` does, without a shell.
        preStop: {sleep: {seconds: {{ .root.Values.shutdown.sleepSeconds }}}}
      resources: {{ toYaml .values.resources | nindent 8 }}
      volumeMounts:
        - {name: data, mountPath: /var/lib/matchwire}
        - {name: settings, mountPath: /etc/matchwire, readOnly: true}
        {{- with .root.Values.extraVolumeMounts }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
  volumes:
    - name: settings
      configMap: {name: {{ include "matchwire.name" .root }}}
    {{- with .root.Values.extraVolumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
    {{- if eq .component "edge" }}
    - name: data
      emptyDir: {sizeLimit: {{ .values.volumeSize }}}
    {{- end }}
  {{- if .root.Values.cluster.enabled }}
  # A machine that fails should take one node with it.
  topologySpreadConstraints:
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "matchwire.selector" .root | nindent 10 }}
          app.kubernetes.io/component: {{ .component }}
  {{- end }}
  {{- with .values.nodeSelector }}
  nodeSelector: {{ toYaml . | nindent 4 }}
  {{- end }}
  {{- with .values.tolerations }}
  tolerations: {{ toYaml . | nindent 4 }}
  {{- end }}
  {{- with .values.affinity }}
  affinity: {{ toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
