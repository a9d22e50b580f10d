"""Rules for gp's Kubernetes manifests beyond their schemas. Each rule takes the rendered objects and yields one sentence per
violation. Needs no cluster and no network."""

import re

POD_OWNERS = ("StatefulSet", "Deployment", "DaemonSet", "Job")
# Created by hand during installation, with the commands of docs/operations/kubernetes.md.
CONFIG_MAPS_MADE_BY_HAND = {"gp-ca"}
SECRETS_MADE_BY_HAND = {"gp-join", "gp-viewer", "gp-gateway-keys", "gp-gateway-tls"}


def pod_templates(objects):
    """Yields (owner's name, template) for every object that makes pods, including the jobs of a JobSet."""
    for each in objects:
        name = f"{each['kind']} {each['metadata']['name']}"
        if each["kind"] == "JobSet":
            for job in each["spec"]["replicatedJobs"]:
                yield f"{name}, job {job['name']}", job["template"]["spec"]["template"]
        elif each["kind"] in POD_OWNERS:
            yield name, each["spec"]["template"]


def containers(objects):
    for owner, template in pod_templates(objects):
        spec = template["spec"]
        for container in spec.get("initContainers", []) + spec["containers"]:
            yield f"{owner}, container {container['name']}", spec, container


def labels_of(template):
    return template.get("metadata", {}).get("labels", {})


def matches(selector, labels):
    if any(labels.get(key) != value for key, value in selector.get("matchLabels", {}).items()):
        return False
    for wanted in selector.get("matchExpressions", []):
        if wanted["operator"] != "In":
            raise ValueError(f"operator {wanted['operator']} is not known to this test")
        if labels.get(wanted["key"]) not in wanted["values"]:
            return False
    return True


def restricted(objects):
    """Pods satisfy the Pod Security profile `restricted`, have a read-only root, and get no Kubernetes credentials."""
    for owner, template in pod_templates(objects):
        spec = template["spec"]
        context = spec.get("securityContext", {})
        if context.get("runAsNonRoot") is not True or not context.get("runAsUser"):
            yield f"{owner}: does not run as a user other than root"
        if context.get("seccompProfile", {}).get("type") != "RuntimeDefault":
            yield f"{owner}: has no seccomp profile"
        if spec.get("automountServiceAccountToken") is not False:
            yield f"{owner}: gets a token of Kubernetes' API"
        for switch in ("hostNetwork", "hostPID", "hostIPC"):
            if spec.get(switch):
                yield f"{owner}: {switch}"
        for volume in spec.get("volumes", []):
            if "hostPath" in volume:
                yield f"{owner}: volume {volume['name']} is a path of the machine"
    for owner, _, container in containers(objects):
        context = container.get("securityContext", {})
        if context.get("allowPrivilegeEscalation") is not False:
            yield f"{owner}: may gain privileges"
        if context.get("readOnlyRootFilesystem") is not True:
            yield f"{owner}: may write its image"
        if context.get("capabilities") != {"drop": ["ALL"]}:
            yield f"{owner}: keeps capabilities"
        if context.get("privileged") or context.get("runAsUser") == 0:
            yield f"{owner}: is privileged"


def tagged(objects):
    for owner, _, container in containers(objects):
        image = container["image"]
        if not re.search(r":[\w.-]+$|@sha256:", image) or image.endswith(":latest"):
            yield f"{owner}: image {image} has no fixed version"


def sized(objects):
    """Containers have resource requests and a memory limit; devices are in the limits, as Kubernetes requires."""
    for owner, _, container in containers(objects):
        resources = container.get("resources", {})
        requests, limits = resources.get("requests", {}), resources.get("limits", {})
        for name in ("cpu", "memory"):
            if name not in requests:
                yield f"{owner}: requests no {name}"
        if "memory" not in limits:
            yield f"{owner}: has no memory limit"
        for name in requests:
            if "/" in name and limits.get(name) != requests[name]:
                yield f"{owner}: {name} must be in limits"


def agents_have_whole_cpus(objects):
    """An agent's CPU limit is a whole number, because it derives its slots from the limit."""
    for owner, template in pod_templates(objects):
        if labels_of(template).get("app.kubernetes.io/name") != "gp-worker":
            continue
        limit = template["spec"]["containers"][0].get("resources", {}).get("limits", {}).get("cpu")
        if limit is None or not str(limit).isdigit():
            yield f"{owner}: has no CPU limit in whole CPUs, so its slots would be the machine's"


def probed(objects):
    """Containers with ports have both probes. They differ, and the liveness probe checks only the process."""
    for owner, _, container in containers(objects):
        if not container.get("ports"):
            continue
        ready, alive = container.get("readinessProbe"), container.get("livenessProbe")
        if not ready or not alive:
            yield f"{owner}: lacks a probe"
            continue
        if alive.get("httpGet", {}).get("path") != "/livez":
            yield f"{owner}: liveness asks for more than whether the process answers"
        if {k: ready.get(k) for k in ("httpGet", "exec")} == {k: alive.get(k) for k in ("httpGet", "exec")}:
            yield f"{owner}: readiness and liveness are the same question"
        if alive.get("failureThreshold", 3) * alive.get("periodSeconds", 10) < 60:
            yield f"{owner}: is ended after less than a minute of silence"
        names = {port["name"] for port in container["ports"]}
        for probe in (ready, alive, container.get("startupProbe", {})):
            port = probe.get("httpGet", {}).get("port")
            if port is not None and port not in names:
                yield f"{owner}: a probe asks port {port}, which the container does not have"


def selectors(objects):
    """Yields (object, selector, named ports) for every object that selects pods of its namespace."""
    for each in objects:
        name, spec = f"{each['kind']} {each['metadata']['name']}", each.get("spec", {})
        if each["kind"] == "Service":
            yield name, {"matchLabels": spec["selector"]}, [p.get("targetPort") for p in spec["ports"]]
        elif each["kind"] in ("StatefulSet", "Deployment", "PodDisruptionBudget"):
            yield name, spec["selector"], []
        elif each["kind"] in ("PodMonitor",):
            yield name, spec["selector"], [e["port"] for e in spec["podMetricsEndpoints"]]
        elif each["kind"] == "NetworkPolicy":
            inward = [p["port"] for rule in spec.get("ingress", []) for p in rule.get("ports", [])]
            yield name, spec["podSelector"], inward
            for rule in spec.get("ingress", []) + spec.get("egress", []):
                for peer in rule.get("from", []) + rule.get("to", []):
                    if "podSelector" in peer:
                        ports = [p["port"] for p in rule.get("ports", [])] if rule in spec.get("egress", []) else []
                        yield f"{name}, a peer", peer["podSelector"], ports


def port_names(template):
    return {port["name"] for container in template["spec"]["containers"] for port in container.get("ports", [])}


def selected(objects):
    """Every selector matches a pod, and the matched pods have the named ports."""
    pods = [template for _, template in pod_templates(objects)]
    # Pods that users start by hand to run gpctl.
    pods.append({"metadata": {"labels": {"app.kubernetes.io/name": "gp-client"}}, "spec": {"containers": []}})
    for owner, selector, ports in selectors(objects):
        found = [pod for pod in pods if matches(selector, labels_of(pod))]
        if not found:
            yield f"{owner}: selects no pod"
        for port in (port for port in ports if isinstance(port, str)):
            for names in map(port_names, found):
                if names and port not in names:
                    yield f"{owner}: port {port} is not in every pod that it selects"


def closed(objects):
    """All traffic to and from pods is denied unless a policy allows it."""
    policies = [each for each in objects if each["kind"] == "NetworkPolicy"]
    if not any(p["spec"]["podSelector"] == {} and set(p["spec"]["policyTypes"]) == {"Ingress", "Egress"}
               and "ingress" not in p["spec"] and "egress" not in p["spec"] for p in policies):
        yield "no policy denies what is not allowed"
    for policy in policies:
        for rule in policy["spec"].get("ingress", []):
            if not rule.get("from"):
                yield f"NetworkPolicy {policy['metadata']['name']}: admits everyone"


def encrypted(objects):
    """No setting turns TLS off, and the gateway has a certificate."""
    for each in objects:
        for key, text in each.get("data", {}).items() if each["kind"] == "ConfigMap" else ():
            if "insecure" in text:
                yield f"ConfigMap {each['metadata']['name']}: {key} says insecure"
    for owner, _, container in containers(objects):
        words = container.get("command", []) + container.get("args", [])
        words += [f"{each['name']}={each.get('value', '')}" for each in container.get("env", [])]
        for word in words:
            if "insecure" in word.lower():
                yield f"{owner}: {word} turns TLS off"
        for name in ("startupProbe", "readinessProbe", "livenessProbe"):
            asked = container.get(name, {}).get("httpGet", {})
            if asked.get("port") == "https" and asked.get("scheme") != "HTTPS":
                yield f"{owner}: {name} speaks plain HTTP to a port with TLS"


def secrets_kept(objects):
    """Secrets are mounted as files, owned by root and readable by the pod's group; none is in a variable or in a manifest."""
    for each in objects:
        if each["kind"] == "Secret":
            yield f"Secret {each['metadata']['name']}: its content is in the manifests"
    for owner, _, container in containers(objects):
        if container.get("envFrom") or any("secretKeyRef" in each.get("valueFrom", {}) for each in container.get("env", [])):
            yield f"{owner}: has a secret in a variable"
    for owner, template in pod_templates(objects):
        spec = template["spec"]
        for volume in spec.get("volumes", []):
            if "secret" not in volume:
                continue
            if volume["secret"].get("defaultMode") not in (0o440, 0o400):
                yield f"{owner}: others may read the files of {volume['name']}"
            context = spec.get("securityContext", {})
            if not context.get("fsGroup") or context.get("fsGroup") != context.get("runAsGroup"):
                yield f"{owner}: its own group cannot read the files of {volume['name']}"


def complete(objects):
    """Everything that a pod mounts exists or is made by hand: volumes, claims, ConfigMaps and Secrets. Service accounts exist
    too and get no token."""
    claims = {each["metadata"]["name"] for each in objects if each["kind"] == "PersistentVolumeClaim"}
    maps = {each["metadata"]["name"] for each in objects if each["kind"] == "ConfigMap"} | CONFIG_MAPS_MADE_BY_HAND
    secrets = {each["spec"]["secretName"] for each in objects if each["kind"] == "Certificate"} | SECRETS_MADE_BY_HAND
    accounts = {each["metadata"]["name"]: each for each in objects if each["kind"] == "ServiceAccount"}
    templates = {f"StatefulSet {each['metadata']['name']}": each["spec"].get("volumeClaimTemplates", [])
                 for each in objects if each["kind"] == "StatefulSet"}
    for owner, template in pod_templates(objects):
        spec = template["spec"]
        volumes = {volume["name"] for volume in spec.get("volumes", [])}
        volumes |= {claim["metadata"]["name"] for claim in templates.get(owner, [])}
        for container in spec["containers"]:
            for mount in container.get("volumeMounts", []):
                if mount["name"] not in volumes:
                    yield f"{owner}: mounts {mount['name']}, which is no volume"
        for volume in spec.get("volumes", []):
            claim = volume.get("persistentVolumeClaim", {}).get("claimName")
            if claim is not None and claim not in claims:
                yield f"{owner}: claim {claim} does not exist"
            settings = volume.get("configMap", {}).get("name")
            if settings is not None and settings not in maps:
                yield f"{owner}: ConfigMap {settings} does not exist"
            secret = volume.get("secret", {}).get("secretName")
            if secret is not None and secret not in secrets:
                yield f"{owner}: nobody makes the Secret {secret}"
        account = spec.get("serviceAccountName")
        if account is not None and accounts.get(account, {}).get("automountServiceAccountToken") is not False:
            yield f"{owner}: service account {account} is missing or gets a token"


def upgradable(objects):
    """Labels of volumeClaimTemplates can never change, so a version label there would make the first upgrade fail."""
    for each in objects:
        for claim in each.get("spec", {}).get("volumeClaimTemplates", []):
            for label in claim["metadata"].get("labels", {}):
                if "version" in label:
                    yield f"StatefulSet {each['metadata']['name']}: label {label} in a claim's template"


def unprivileged(objects):
    """No object grants cluster-wide rights, and Roles list each right explicitly."""
    for each in objects:
        if each["kind"] in ("ClusterRole", "ClusterRoleBinding", "RoleBinding"):
            yield f"{each['kind']} {each['metadata']['name']}: gives rights"
        for rule in each.get("rules", []) if each["kind"] == "Role" else []:
            for words in rule.values():
                if "*" in words:
                    yield f"Role {each['metadata']['name']}: a rule with *"


def saved_in_time(objects, stop_grace_seconds):
    """Kubernetes waits longer for an agent to stop than the agent waits for its trainers."""
    for owner, template in pod_templates(objects):
        if labels_of(template).get("app.kubernetes.io/name") == "gp-worker":
            grace = template["spec"].get("terminationGracePeriodSeconds", 30)
            if grace < stop_grace_seconds + 30:
                yield f"{owner}: is killed after {grace} s, while a save may take {stop_grace_seconds} s"


RULES = (restricted, tagged, sized, agents_have_whole_cpus, probed, selected, closed, encrypted, secrets_kept, complete,
         upgradable, unprivileged)


def problems(objects):
    return [problem for rule in RULES for problem in rule(objects)]
