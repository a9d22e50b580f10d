"""Pods without a cluster: runs the containers of a manifest as processes of this machine. Paths of the pod are replaced by
folders of a scratch directory in settings, arguments and variables; everything else stays as in the manifest.

When run as root, the processes use the manifest's user and group, and the files of Secrets belong to root and that group, as
the kubelet arranges for a pod with an fsGroup.
"""

import base64
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

import yaml

SOURCE = pathlib.Path(os.environ["GP_SOURCE"])
sys.path.append(str(SOURCE / "tests/e2e"))

from waiting import SECONDS_MAX, wait_for  # noqa: E402

PROGRAMS = pathlib.Path(os.environ["GP_BIN"])


class Cluster:
    """A namespace: its rendered objects, the objects that `kubectl create` made, and the volumes that pods share."""

    def __init__(self, objects):
        self.objects = objects
        self.scratch = pathlib.Path(tempfile.mkdtemp(prefix="gp-pods-"))
        self.scratch.chmod(0o711)
        self.account = self.account_of_pods()
        self.pods = {}
        self.coordinator_port = None

    def account_of_pods(self):
        """(user, group) of the pods' processes; None if this process cannot switch to another user."""
        if os.geteuid() != 0:
            return None
        context = self.find("StatefulSet", "gp-coordinator")["spec"]["template"]["spec"]["securityContext"]
        account = (context["runAsUser"], context["runAsGroup"])
        try:
            subprocess.run([PROGRAMS / "gpctl", "--version"], check=False, user=account[0], group=account[1],
                           capture_output=True)
        except PermissionError:
            return None
        return account

    def find(self, kind, name):
        return next((each for each in self.objects if each["kind"] == kind and each["metadata"]["name"] == name), None)

    def create(self, printed):
        """Adds an object, given as the output of `kubectl create --dry-run=client -o yaml`."""
        self.objects.append(yaml.safe_load(printed))

    def delete(self, kind, name):
        self.objects.remove(self.find(kind, name))

    def own(self, path, mode):
        path.chmod(mode)
        if self.account is not None:
            os.chown(path, *self.account)

    def shared(self, name):
        folder = self.scratch / name
        if not folder.exists():
            folder.mkdir()
            self.own(folder, 0o750)
        return folder

    def start(self, kind, name, index=0):
        pod = Pod(self, self.find(kind, name)["spec"], f"{name}-{index}")
        self.pods[pod.name] = pod
        pod.start()
        return pod

    def start_job(self, job, index=0):
        """Starts a pod of one of a JobSet's jobs."""
        pod = Pod(self, job["template"]["spec"], f"{job['name']}-{index}")
        self.pods[pod.name] = pod
        pod.start()
        return pod

    def start_coordinator(self):
        coordinator = self.start("StatefulSet", "gp-coordinator")
        coordinator.await_ready()
        self.coordinator_port = coordinator.addresses()["listen"].rpartition(":")[2]
        return coordinator

    def close(self):
        for pod in reversed(list(self.pods.values())):
            pod.stop()
        shutil.rmtree(self.scratch)


class Pod:
    """One process that stands for a container. SIGTERM stops it; a restart keeps the contents of its own volumes."""

    def __init__(self, cluster, spec, name):
        self.cluster = cluster
        self.name = name
        self.spec = spec["template"]["spec"]
        self.container = self.spec["containers"][0]
        self.claims = {each["metadata"]["name"] for each in spec.get("volumeClaimTemplates", [])}
        self.folder = cluster.shared(name)
        self.log = cluster.scratch / f"{name}.log"
        self.process = None

    def mount(self):
        """{path in the pod: folder here}. Volumes of Secrets and ConfigMaps are written anew at every start."""
        volumes = {each["name"]: each for each in self.spec["volumes"]}
        return {each["mountPath"]: self.volume(each["name"], volumes.get(each["name"], {}))
                for each in self.container["volumeMounts"]}

    def volume(self, name, volume):
        if "persistentVolumeClaim" in volume:
            return self.cluster.shared(volume["persistentVolumeClaim"]["claimName"])
        folder = self.folder / name
        if "secret" in volume or "configMap" in volume:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            folder.chmod(0o755)
            self.fill(folder, volume)
        elif not folder.exists():
            folder.mkdir()
            self.cluster.own(folder, 0o770)
        return folder

    def fill(self, folder, volume):
        secret = volume.get("secret")
        name = secret["secretName"] if secret else volume["configMap"]["name"]
        found = self.cluster.find("Secret" if secret else "ConfigMap", name)
        if found is None:
            if not (secret or {}).get("optional"):
                raise AssertionError(f"{self.name} waits for what nobody made: {volume}")
            return
        self.show(folder, {key: base64.b64decode(value) if secret else value.encode()
                           for key, value in found.get("data", {}).items()}, (secret or {}).get("defaultMode"))

    def show(self, folder, files, mode):
        """Publishes the files as the kubelet does: a link to their folder is switched, so all files change at once."""
        data = pathlib.Path(tempfile.mkdtemp(prefix="..", dir=folder))
        data.chmod(0o755)
        for key, content in files.items():
            path = data / key
            path.write_bytes(content)
            if mode is None:
                path.chmod(0o644)
            elif self.cluster.account is None:
                path.chmod(0o400)
            else:
                os.chown(path, 0, self.cluster.account[1])
                path.chmod(mode)
            if not (folder / key).is_symlink():
                (folder / key).symlink_to(f"..data/{key}")
        (folder / "..next").symlink_to(data.name)
        (folder / "..next").rename(folder / "..data")

    def refresh(self, path):
        """Updates a mounted Secret, as the kubelet does a while after the Secret was replaced."""
        mount = next(each for each in self.container["volumeMounts"] if each["mountPath"] == path)
        volume = next(each for each in self.spec["volumes"] if each["name"] == mount["name"])
        self.fill(self.mounts[path], volume)

    def translate(self, text):
        """Replaces the pod's paths and addresses by those on this machine."""
        paths = "|".join(re.escape(path) for path in sorted(self.mounts, key=len, reverse=True))
        text = re.sub(rf"(?<![\w./-])({paths})(?![\w-])", lambda found: str(self.mounts[found.group(1)]), text)
        text = re.sub(r"\b0\.0\.0\.0:\d+", "127.0.0.1:0", text)
        if self.cluster.coordinator_port:
            text = text.replace("gp-coordinator:7070", f"localhost:{self.cluster.coordinator_port}")
        return text

    def variables(self):
        own = {"metadata.name": self.name, "status.podIP": "127.0.0.1"}
        given = {each["name"]: self.translate(each["value"]) if "value" in each
                 else own[each["valueFrom"]["fieldRef"]["fieldPath"]] for each in self.container.get("env", [])}
        return {"PATH": f"{PROGRAMS}:/usr/bin:/bin", "HOME": str(self.folder), "LANG": "C.UTF-8", **given}

    def identity(self):
        return {} if self.cluster.account is None else dict(zip(("user", "group"), self.cluster.account), extra_groups=[])

    def translate_settings(self):
        for path in self.mounts.get("/etc/gp/settings", self.folder / "none").glob("*.yaml"):
            path.write_text(self.translate(path.read_text(encoding="utf-8")))

    def start(self):
        self.mounts = self.mount()
        self.translate_settings()
        for leftover in self.mounts.get("/run/gp", self.folder / "none").glob("address"):
            leftover.unlink()  # a new pod starts with an empty volume
        command = self.container.get("command") or [f"gp-{self.container['name']}"]
        words = [self.translate(word) for word in command + self.container.get("args", [])]
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen([PROGRAMS / words[0], *words[1:]], env=self.variables(), cwd=self.folder,
                                            stdout=log, stderr=log, stdin=subprocess.DEVNULL, **self.identity())

    def run(self, words, **options):
        """Runs a command in the pod, as `kubectl exec` or a probe does, with the image's environment."""
        image = {"GPCTL_SERVER": self.translate("unix:/run/gp/coordinator.sock")}
        return subprocess.run([self.translate(word) for word in words], check=False, cwd=self.folder, capture_output=True,
                              text=True, timeout=SECONDS_MAX, env={**self.variables(), **image}, **self.identity(), **options)

    def probe(self, name):
        return self.run(self.container[name]["exec"]["command"]).returncode == 0

    def await_ready(self):
        try:
            wait_for(f"{self.name} is ready", lambda: self.probe("readinessProbe"), process=self.process)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.text()}") from error

    def addresses(self):
        return json.loads((self.mounts["/run/gp"] / "address").read_text(encoding="utf-8"))

    def text(self):
        return self.log.read_text(encoding="utf-8")

    def stop(self):
        if self.process is None or self.process.poll() is not None:
            return self.process.returncode if self.process else None
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(SECONDS_MAX)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()
