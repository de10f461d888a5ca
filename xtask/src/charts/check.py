"""Lints, renders and validates the chart, and reads what deploy/ holds. Run by `cargo xtask charts`.

Arguments: the root of the repository, and a folder that gets the environment and the configuration of every container,
for the command itself to judge. Prints one line for each thing that is wrong, and fails where there is one.
"""

import json
import pathlib
import re
import subprocess
import sys

import helm_python as helm
import kubernetes_validate
import yaml

# The oldest Kubernetes that the chart promises to run on, and the newest one that the validator knows.
KUBERNETES = ["1.30", "1.37"]
ROLES = ["coordinator", "gateway", "worker"]
PROBES = {"startupProbe": "/startupz", "readinessProbe": "/readyz", "livenessProbe": "/livez"}
# Values that must be refused: where, what, and a word of the complaint.
WRONG = [
    ("an unknown key", ["worker", "replica"], 3, "replica"),
    ("a count as text", ["gateway", "replicas"], "two", "replicas"),
    ("a negative count", ["coordinator", "replicas"], -1, "replicas"),
    ("no bus", ["nats", "url"], "", "url"),
    ("an address without a scheme", ["nats", "url"], "nats:4222", "url"),
    ("two devices for one worker", ["worker", "gpu", "count"], 2, "count"),
    ("a resource that is none", ["worker", "gpu", "resourceName"], "gpu", "resourceName"),
    ("no time to drain", ["worker", "drainSeconds"], 0, "drainSeconds"),
    ("a pull policy that is none", ["image", "pullPolicy"], "Sometimes", "pullPolicy"),
    ("a port that is none", ["gateway", "service", "port"], 70000, "port"),
    ("another port that is none", ["gateway", "service", "grpcPort"], 0, "grpcPort"),
    ("a collector without a scheme", ["telemetry", "otlpEndpoint"], "collector:4317", "otlpEndpoint"),
    ("a log format that is none", ["telemetry", "logFormat"], "xml", "logFormat"),
]

problems = []


def expect(holds, what):
    if not holds:
        problems.append(what)


def at(tree, path):
    for step in path:
        tree = tree.get(step, {}) if isinstance(tree, dict) else {}
    return tree


def documents(rendered):
    for path, text in sorted(rendered.items()):
        if path.endswith(".txt"):
            continue
        for document in yaml.safe_load_all(text):
            if document:
                yield path, document


def check_strictly(name, document):
    for version in KUBERNETES:
        try:
            kubernetes_validate.validate(document, version, strict=True)
        except kubernetes_validate.ValidationError as error:
            where = "/".join(str(step) for step in error.path)
            problems.append(f"{name}: {document['kind']} is not valid in {version}: {error.message} at {where}")


def check_pod(name, values, deployment):
    role = deployment["spec"]["template"]["metadata"]["labels"]["app.kubernetes.io/component"]
    name, settings = f"{name}: {role}", values[role]
    template = deployment["spec"]["template"]
    pod = template["spec"]
    [container] = pod["containers"]
    longest = settings["preStopSeconds"] + settings["drainSeconds"]
    grace = pod["terminationGracePeriodSeconds"]
    expect(grace > longest, f"{name} is killed after {grace} s, and draining may take {longest} s")
    sleep = at(container, ["lifecycle", "preStop", "sleep", "seconds"]) or 0
    expect(sleep == settings["preStopSeconds"], f"{name} waits {sleep} s before it stops")
    ports = {port["name"] for port in container["ports"]}
    for probe, path in PROBES.items():
        get = at(container, [probe, "httpGet"])
        expect(get == {"path": path, "port": "admin"}, f"{name}: {probe} asks {get}")
    expect("admin" in ports, f"{name} has no admin port")
    expect(pod["automountServiceAccountToken"] is False, f"{name} has a token of the cluster")
    expect(pod["securityContext"]["runAsNonRoot"] is True, f"{name} may run as root")
    rights = container["securityContext"]
    expect(rights["readOnlyRootFilesystem"] is True, f"{name} may write to its image")
    expect(rights["allowPrivilegeEscalation"] is False, f"{name} may gain rights")
    expect(rights["capabilities"]["drop"] == ["ALL"], f"{name} keeps capabilities")
    expect("checksum/config" in template["metadata"]["annotations"], f"{name} does not follow its configuration")
    expect("memory" in at(container, ["resources", "limits"]), f"{name} has no limit of memory")
    device = at(container, ["resources", "limits"]).get(at(values, ["worker", "gpu", "resourceName"]))
    wants = role == "worker" and at(values, ["worker", "gpu", "enabled"])
    expect(bool(device) == bool(wants), f"{name} has {device} devices")
    claims = [volume for volume in pod["volumes"] if "persistentVolumeClaim" in volume]
    expect(bool(claims) == bool(values["models"]["claim"]), f"{name} has {len(claims)} volumes of models")
    mounted = {mount["name"] for mount in container["volumeMounts"]}
    declared = {volume["name"] for volume in pod["volumes"]}
    expect(mounted == declared, f"{name} mounts {mounted} of {declared}")
    expect(container["args"][0] == role, f"{name} runs {container['args']}")
    return role, container


def check_service(name, values, service):
    ports = {port["name"]: port for port in service["spec"]["ports"]}
    wanted = {"http": at(values, ["gateway", "service", "port"]), "grpc": at(values, ["gateway", "service", "grpcPort"])}
    found = {port["name"]: port["port"] for port in ports.values() if port["targetPort"] == "main"}
    expect(found == wanted, f"{name}: the Service has the ports {found}")
    spoken = "https" if at(values, ["gateway", "tlsSecret"]) else "kubernetes.io/h2c"
    expect(ports["grpc"].get("appProtocol") == spoken, f"{name}: gRPC is announced as {ports['grpc'].get('appProtocol')}")


def check_set(root, out, file):
    name = file.name.removesuffix("-values.yaml")
    given = yaml.safe_load(file.read_text())
    with helm.Chart.load(str(root)) as chart:
        values = chart.merge_values(given)
        chart.validate_schema(given)
        rendered = chart.render(given, name="demo", namespace="prod")
    report = helm.lint(str(root), given, strict=True)
    for message in report["messages"]:
        # That an icon is recommended is the one remark that stays.
        expect(message["severity"] < 2, f"{name}: lint: {message['path']}: {message['error']}")
    kinds = []
    for path, document in documents(rendered):
        kinds.append(document["kind"])
        check_strictly(f"{name}: {path}", document)
        if document["kind"] == "ConfigMap":
            (out / f"{name}.toml").write_text(document["data"]["groundline.toml"])
        if document["kind"] == "Deployment":
            role, container = check_pod(name, values, document)
            variables = {item["name"]: item["value"] for item in container["env"] if "value" in item}
            (out / f"{name}-{role}.json").write_text(json.dumps(variables, indent=1, sort_keys=True))
        if document["kind"] == "Service":
            check_service(name, values, document)
    expect(kinds.count("Deployment") == len(ROLES), f"{name} renders {kinds}")
    for kind, wanted in [("NetworkPolicy", at(values, ["networkPolicy", "enabled"])), ("Service", True)]:
        expect((kind in kinds) == bool(wanted), f"{name}: {kind} is {'there' if kind in kinds else 'missing'}")
    budgets = sum(values[role]["replicas"] > 1 for role in ROLES)
    expect(kinds.count("PodDisruptionBudget") == budgets, f"{name} has {kinds.count('PodDisruptionBudget')} budgets")


def check_refusals(root, base):
    for what, path, value, word in WRONG:
        values = json.loads(json.dumps(base))
        inner = values
        for step in path[:-1]:
            inner = inner.setdefault(step, {})
        inner[path[-1]] = value
        with helm.Chart.load(str(root)) as chart:
            try:
                chart.validate_schema(values)
                problems.append(f"values.schema.json accepts {what}")
            except helm.HelmError as error:
                expect(word in str(error), f"{what} is refused without naming `{word}`: {error}")


def check_documented(root):
    readme = (root / "README.md").read_text()
    schema = json.loads((root / "values.schema.json").read_text())
    with helm.Chart.load(str(root)) as chart:
        defaults = chart.values

    def walk(prefix, node, default):
        for key, inner in node.get("properties", {}).items():
            name = f"{prefix}{key}"
            if "properties" in inner and "resources" not in name:
                walk(f"{name}.", inner, default.get(key, {}))
            elif name != "global":
                expect(key in default, f"values.yaml has no {name}")
                expect(f"`{key}`" in readme or f".{key}`" in readme, f"helm/groundline/README.md says nothing of {name}")

    walk("", schema, defaults)


def check_deploy(folder, out):
    compose = yaml.safe_load((folder / "compose.yaml").read_text())
    services = compose["services"]
    (out / "compose.toml").write_text((folder / "groundline.toml").read_text())
    for role in ROLES:
        variables = services[role]["environment"]
        (out / f"compose-{role}.json").write_text(json.dumps(variables, indent=1))
        expect(services[role]["command"][0] == role, f"compose.yaml: {role} runs {services[role]['command']}")
    for name in ["nats", "gateway", "coordinator", "worker", "prometheus", "otel-collector"]:
        expect(name in services, f"compose.yaml has no {name}")
    for name, service in services.items():
        image, build = service.get("image", ""), service.get("build")
        expect(bool(build) or (":" in image and not image.endswith(":latest")), f"{name} has no pinned image")
        for other in service.get("depends_on", {}):
            expect(other in services, f"{name} waits for {other}, which is not there")
        for mount in service.get("volumes", []):
            source = mount.split(":")[0]
            if source.startswith("./"):
                expect((folder / source).exists(), f"{name} mounts {source}, which is not there")
        if build:
            expect((folder / build["dockerfile"].removeprefix("deploy/")).exists(), f"{name}: no {build['dockerfile']}")
    collector = yaml.safe_load((folder / "otel-collector.yaml").read_text())
    for name, pipeline in collector["service"]["pipelines"].items():
        for part in ["receivers", "processors", "exporters"]:
            for used in pipeline.get(part, []):
                expect(used in collector[part], f"otel-collector.yaml: {name} uses {used}, which is not there")
    scrapes = yaml.safe_load((folder / "prometheus.yaml").read_text())["scrape_configs"]
    for scrape in scrapes:
        for target in scrape["static_configs"][0]["targets"]:
            expect(target.split(":")[0] in services, f"prometheus.yaml scrapes {target}, which compose does not start")


def check_alarms(docs):
    """Metrics that the page on operations names must be in the inventory, which docs/telemetry.md is generated from."""
    known = set(re.findall(r"^\| `(groundline_[a-z_]+)` \|", (docs / "telemetry.md").read_text(), re.MULTILINE))
    named = set(re.findall(r"groundline_[a-z_]+", (docs / "operations.md").read_text()))
    expect(len(named) > 10, f"docs/operations.md names {len(named)} metrics")
    for name in sorted(named):
        base = re.sub("_(bucket|sum|count)$", "", name)
        expect(base in known, f"docs/operations.md names {name}, which is no metric")


def check_broker(folder):
    server = pathlib.Path(sys.executable).with_name("nats-server")
    names = ["GATEWAY", "COORDINATOR", "WORKER", "OPERATOR"]
    variables = {f"NATS_{name}_PASSWORD": "only-a-test" for name in names}
    ran = subprocess.run([server, "-t", "-c", folder / "nats.conf"], env=variables, capture_output=True, text=True)
    expect(ran.returncode == 0, f"nats-server refuses nats.conf: {ran.stderr.strip()}")


def main():
    repository, out = (pathlib.Path(argument) for argument in sys.argv[1:3])
    root, deploy = repository / "helm" / "groundline", repository / "deploy"
    sets = sorted((root / "ci").glob("*-values.yaml"))
    expect(len(sets) == 3, f"there are {len(sets)} sets of values")
    for file in sets:
        check_set(root, out, file)
    check_refusals(root, yaml.safe_load(sets[0].read_text()))
    check_documented(root)
    check_deploy(deploy, out)
    check_alarms(repository / "docs")
    check_broker(deploy)
    for problem in problems:
        print(problem)
    print(f"charts: {len(sets)} sets of values, {len(problems)} problems")
    sys.exit(1 if problems else 0)


main()
