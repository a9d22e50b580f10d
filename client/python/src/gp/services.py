"""Which coordinator to talk to: found as gpctl finds it, from arguments, GPCTL_* variables and the files that gpctl writes."""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import re
import stat

from gp.errors import InvalidRequest, NotFound, Unreachable
from gp.plain_yaml import NotPlain, Tree, parse

_API_VERSION = "gp/v1"
_TOKEN = re.compile(r"gp_(user|join)_[0-9a-z]{10}_[0-9a-f]{64}(_[0-9a-f]{64})?")


@dataclasses.dataclass(frozen=True)
class Service:
    """The address of a coordinator and what is needed to talk to it."""

    server: str  # HOST:PORT or unix:PATH
    state_dir: str = ""  # of a service that `gpctl up` started on this machine
    token: str = dataclasses.field(default="", repr=False)
    ca_file: str = ""  # authorities of the server's certificate; empty: no TLS
    namespace: str = ""  # of the runs that are named or submitted; empty: none given; "*": all

    @property
    def is_socket(self) -> bool:
        return self.server.startswith("unix:")

    @property
    def has_tls(self) -> bool:
        return bool(self.ca_file) and not self.is_socket


def find_service(
    server: str | None = None,
    context: str | None = None,
    state_dir: str | os.PathLike[str] | None = None,
    namespace: str | None = None,
    token_file: str | os.PathLike[str] | None = None,
    ca_file: str | os.PathLike[str] | None = None,
) -> Service:
    """The service that the arguments name; otherwise GPCTL_SERVER, GPCTL_STATE_DIR, GPCTL_CONTEXT, then gpctl's context.

    Raises InvalidRequest, NotFound, or Unreachable when no service is named.
    """
    chosen = _choose(server, context, os.fspath(state_dir) if state_dir is not None else None)
    address = _text(chosen, "server")
    if not address:
        raise NotFound(f"no service was started in {_text(chosen, 'state_dir')}; 'gpctl up' starts one")
    _check_address(address)
    authority = os.fspath(ca_file) if ca_file is not None else os.environ.get("GPCTL_CA_FILE") or _text(chosen, "ca_file")
    service = Service(
        server=address,
        state_dir=_text(chosen, "state_dir"),
        ca_file=authority,
        token=_find_token(os.fspath(token_file) if token_file is not None else None, _text(chosen, "token_file")),
        namespace=namespace if namespace is not None else _text(chosen, "namespace"),
    )
    _check_token_may_go(service)
    return service


def stopped_service(service: Service) -> str:
    """Why a local service cannot answer, in words; empty when it runs or is elsewhere."""
    if not service.state_dir:
        return ""
    supervisor = _record(service.state_dir).get("supervisor")
    if isinstance(supervisor, dict) and _is_alive(supervisor):
        return ""
    return f"the service in {service.state_dir} is stopped; 'gpctl up' starts it"


def gateway_address(service: Service) -> str | None:
    """HOST:PORT of the gateway that runs with a local service; None if there is none."""
    record = _record(service.state_dir) if service.state_dir else {}
    gateway, address = record.get("gateway"), record.get("gateway_address")
    if not isinstance(gateway, dict) or not isinstance(address, str) or not address or not _is_alive(gateway):
        return None
    host, _, port = address.rpartition(":")
    return f"{'127.0.0.1' if host in ('', '0.0.0.0', '[::]') else host}:{port}"


def _choose(server: str | None, context: str | None, state_dir: str | None) -> Tree:
    if server:
        return {"server": server}
    if state_dir:
        return _service_of_state(state_dir)
    if context:
        return _service_of_context(context)
    if os.environ.get("GPCTL_SERVER"):
        return {"server": os.environ["GPCTL_SERVER"]}
    if os.environ.get("GPCTL_STATE_DIR"):
        return _service_of_state(os.environ["GPCTL_STATE_DIR"])
    return _service_of_context(os.environ.get("GPCTL_CONTEXT", ""))


def _service_of_state(state_dir: str) -> Tree:
    directory = os.path.abspath(state_dir)
    path = pathlib.Path(directory, "context")
    return {**(_read(path) if path.exists() else {}), "state_dir": directory}


def _service_of_context(wanted: str) -> Tree:
    path = _context_file()
    root = _read(path) if path.exists() else {}
    name = wanted or _text(root, "current")
    if not name:
        raise Unreachable(
            "no coordinator is chosen; start one on this machine with 'gpctl up', or log in to another one with "
            "'gpctl login HOST:PORT --token-file FILE'"
        )
    contexts = root.get("contexts")
    known = contexts if isinstance(contexts, dict) else {}
    found = known.get(name)
    if not isinstance(found, dict):
        raise NotFound(f"{path} has no context '{name}'; it has: {', '.join(sorted(known)) or 'none'}")
    return found


def _context_file() -> pathlib.Path:
    configured = os.environ.get("XDG_CONFIG_HOME", "")
    folder = pathlib.Path(configured) if configured.startswith("/") else pathlib.Path.home() / ".config"
    return folder / "gpctl" / "config.yaml"


def _read(path: pathlib.Path) -> Tree:
    try:
        root = parse(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidRequest(f"{path}: {error.strerror}") from error
    except (NotPlain, UnicodeDecodeError) as error:
        raise InvalidRequest(f"{path}: {error}; expected the YAML that gpctl writes") from error
    version = _text(root, "apiVersion")
    if version not in ("", _API_VERSION):
        raise InvalidRequest(f"{path} has apiVersion {version}; this package reads {_API_VERSION}: upgrade it")
    return root


def _text(tree: Tree, key: str) -> str:
    value = tree.get(key, "")
    return value if isinstance(value, str) else ""


def _check_address(address: str) -> None:
    host, _, port = address.rpartition(":")
    is_port = port.isascii() and port.isdigit() and 0 < int(port) < 65536
    if not (address.startswith("unix:") and len(address) > 5) and not (host and is_port):
        raise InvalidRequest(
            f"'{address}' is not the address of a coordinator; expected HOST:PORT, such as 127.0.0.1:7070, or unix:PATH"
        )


def _find_token(token_file: str | None, context_file: str) -> str:
    text = os.environ.get("GPCTL_TOKEN", "")
    if token_file is None and text:
        return _checked_token(text, "GPCTL_TOKEN")
    path = token_file or os.environ.get("GPCTL_TOKEN_FILE") or context_file
    return _checked_token(_read_secret(path), path) if path else ""


def _checked_token(text: str, where: str) -> str:
    if not _TOKEN.fullmatch(text):
        raise InvalidRequest(
            f"{where}: this is not a token; expected the one line that 'gpctl token create' printed, which begins with gp_user_"
        )
    return text


def _read_secret(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            mode = os.fstat(file.fileno()).st_mode
            if stat.S_ISREG(mode) and mode & 0o077:
                raise InvalidRequest(
                    f"{path} has mode {stat.S_IMODE(mode):03o}, so other users can read the secret in it; "
                    f"'chmod 600 {path}' stops that"
                )
            return file.read(4096).rstrip("\r\n")
    except OSError as error:
        raise InvalidRequest(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InvalidRequest(f"{path}: this is not a token") from error


def _check_token_may_go(service: Service) -> None:
    if not service.token or service.is_socket or service.has_tls:
        return
    raise InvalidRequest(
        f"the token is not sent to {service.server}, because the connection would have no TLS and others "
        f"could read it; 'gpctl login {service.server} --token-file FILE' sets TLS up, or leave the token out "
        "(GPCTL_TOKEN, GPCTL_TOKEN_FILE) for a coordinator that runs with --insecure"
    )


def _record(state_dir: str) -> dict[str, object]:
    try:
        record = json.loads(pathlib.Path(state_dir, "service.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return record if isinstance(record, dict) else {}


def _is_alive(process: dict[str, object]) -> bool:
    """Whether the process still runs: its number may have gone to another one that started later."""
    try:
        status = pathlib.Path("/proc", str(process.get("pid", 0)), "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return status.rpartition(")")[2].split()[19] == str(process.get("start_time"))
