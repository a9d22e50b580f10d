"""A client of one coordinator."""

from __future__ import annotations

import collections.abc
import datetime
import os
import secrets
import types
import typing

from gp.comparison import Comparison
from gp.comparison import compare as compare_runs
from gp.errors import InvalidRequest, NotFound
from gp.gateway import Gateway, gateway_at
from gp.records import state_name
from gp.run import Run, warn
from gp.run_file import Value, override_texts, read_run_file, refuse_initial_model
from gp.services import Service, find_service, gateway_address
from gp.sweep import Sweep, read_sweep_file
from gp.transport import Transport
from gp.v1 import run_pb2
from gp.v1 import run_service_pb2 as api
from gp.v1 import sweep_service_pb2 as sweep_api

_EVERY_NAMESPACE = "*"
_PAGE = 500  # runs in one answer


class Client:
    """A connection to a coordinator; made by `gp.connect()`. Threads may share it; processes may not.

    Calls are repeated while the coordinator is away, for up to the client's timeout. They raise the exceptions of this package:
    InvalidRequest, NotFound, NotAllowed, Conflict, LimitReached, Unreachable, IncompatibleVersion.
    """

    def __init__(self, service: Service, timeout: float, gateway: str | None, gateway_key: str) -> None:
        self.transport = Transport(service, timeout)
        self._gateway = gateway
        self._gateway_key = gateway_key

    @property
    def address(self) -> str:
        """HOST:PORT or unix:PATH of the coordinator."""
        return self.transport.service.server

    @property
    def coordinator_version(self) -> str:
        """The version of the coordinator's gp, "0.1.0"."""
        return self.transport.coordinator.version

    def submit(
        self,
        source: collections.abc.Mapping[str, Value] | str | os.PathLike[str],
        *,
        overrides: collections.abc.Mapping[str, Value] | None = None,
        name: str | None = None,
        request_id: str | None = None,
    ) -> Run:
        """Submits a run file, given as a dict or as the path of a YAML file; returns the run. Durable when it returns.

        `overrides`: {"optimizer.lr": 1e-3}, as with `gpctl submit --set`. Relative paths in them and in the file begin at the
        file's folder, those of a dict at the working directory; a pathlib.Path always at the working directory. A repeated call
        with the same `request_id` returns the same run. Raises InvalidRunFile with all problems of the file.
        """
        file = read_run_file(source)
        refuse_initial_model(file, overrides)
        return self._submit(
            api.SubmitRequest(
                request_id=request_id or secrets.token_hex(10),
                source=file.text,
                source_name=file.name,
                base_directory=file.directory,
                overrides=override_texts(overrides),
                name=name or "",
                namespace=self._namespace(),
            )
        )

    def run(self, reference: str) -> Run:
        """The run with this name, id, unique prefix of an id, or "@last". NotFound if there is none."""
        namespace = self._namespace()
        qualified = f"{namespace}/{reference}" if namespace and "/" not in reference else reference
        return Run(self, self.transport.ask("Get", api.GetRequest(run=qualified), run_pb2.Run))

    def runs(
        self,
        *,
        states: collections.abc.Sequence[str] = (),
        labels: collections.abc.Mapping[str, str] | None = None,
        search: str = "",
        user: str = "",
        since: datetime.datetime | None = None,
        namespace: str | None = None,
        limit: int | None = None,
    ) -> list[Run]:
        """Runs, also ended ones: those that train, those that wait, then the ended ones; the newest first in each group.

        `states`: ["running", "failed"]; `labels`: the runs have all of them; `search`: a part of the name; `user`: who
        submitted them, "@me" for the caller; `since`: submitted at this time or later; `limit`: at most as many.
        """
        request = api.ListRequest(
            include_finished=True,
            states=[_state_of(state) for state in states],
            labels=labels,
            search=search,
            submitted_by=user,
            namespace=self._namespace() if namespace is None else namespace,
        )
        if since is not None:
            request.submitted_since.FromDatetime(since.astimezone(datetime.timezone.utc))
        found: list[Run] = []
        while limit is None or len(found) < limit:
            request.limit = _PAGE if limit is None else min(_PAGE, limit - len(found))
            answer = self.transport.ask("List", request, api.ListResponse)
            found += [Run(self, message) for message in answer.runs]
            if not answer.next_page_token:
                break
            request.page_token = answer.next_page_token
        return found

    def submit_sweep(
        self,
        source: collections.abc.Mapping[str, Value] | str | os.PathLike[str],
        *,
        overrides: collections.abc.Mapping[str, Value] | None = None,
        name: str | None = None,
        request_id: str | None = None,
    ) -> Sweep:
        """Submits a sweep file, given as a dict or as the path of a YAML file; returns the sweep. Durable when it returns.

        `run` in it is the run file that is varied: its path, or the run file itself. `overrides` change the run file of every
        trial. Relative paths begin as with `submit`. Raises InvalidRunFile with all problems.
        """
        sweep = read_sweep_file(source)
        run = sweep.run or sweep.file
        request = sweep_api.SubmitSweepRequest(
            request_id=request_id or secrets.token_hex(10),
            source=sweep.file.text,
            source_name=sweep.file.name,
            run_source=sweep.run.text if sweep.run else "",
            run_source_name=run.name,
            base_directory=run.directory,
            name=name or "",
            namespace=self._namespace(),
            overrides=override_texts(overrides),
        )
        answer = self.transport.ask("SweepService.Submit", request, sweep_api.SubmitSweepResponse)
        warn(answer.warnings, 1)
        return Sweep(self, answer.sweep)

    def sweep(self, name: str) -> Sweep:
        """The sweep with this name; NotFound if there is none."""
        namespace = self._namespace()
        qualified = f"{namespace}/{name}" if namespace and "/" not in name else name
        request = sweep_api.GetSweepRequest(sweep=qualified)
        return Sweep(self, self.transport.ask("SweepService.Get", request, sweep_api.Sweep))

    def sweeps(self) -> list[Sweep]:
        """The newest 100 sweeps, the newest first. Their trials are not known until `refresh()`."""
        request = sweep_api.ListSweepsRequest(namespace=self._namespace())
        answer = self.transport.ask("SweepService.List", request, sweep_api.ListSweepsResponse)
        return [Sweep(self, message) for message in answer.sweeps]

    def compare(self, a: Run | str, b: Run | str) -> Comparison:
        """Two runs side by side, given as runs or by name."""
        return compare_runs(*(self.run(one) if isinstance(one, str) else one for one in (a, b)))

    def gateway(self) -> Gateway:
        """The gateway that samples; raises NotFound if none is known, InvalidRequest for a URL that cannot be used."""
        if self._gateway:
            return gateway_at(self._gateway, self._gateway_key)
        address = gateway_address(self.transport.service)
        if address is None:
            raise NotFound(
                f"no gateway is known for the coordinator at {self.address}: 'gpctl up' starts one with a service "
                "on this machine; name another one with gp.connect(gateway='http://HOST:PORT')"
            )
        return Gateway(f"http://{address}", self._gateway_key)

    def close(self) -> None:
        self.transport.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: types.TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<gp.Client of {self.address}>"

    def _submit(self, request: api.SubmitRequest) -> Run:
        answer = self.transport.ask("Submit", request, api.SubmitResponse)
        warn(answer.warnings, 2)
        return Run(self, answer.run)

    def _namespace(self) -> str:
        """Empty: the run file's, or any."""
        namespace = self.transport.service.namespace
        return "" if namespace == _EVERY_NAMESPACE else namespace


def connect(
    server: str | None = None,
    *,
    context: str | None = None,
    state_dir: str | os.PathLike[str] | None = None,
    namespace: str | None = None,
    token_file: str | os.PathLike[str] | None = None,
    ca_file: str | os.PathLike[str] | None = None,
    timeout: float = 15.0,
    gateway: str | None = None,
    gateway_key: str = "",
) -> Client:
    """Connects to a coordinator, which is found as gpctl finds it.

    Without arguments: GPCTL_SERVER, GPCTL_STATE_DIR or GPCTL_CONTEXT, otherwise the current context of gpctl, that is the
    service of the last `gpctl up` or `gpctl login`. The token comes from GPCTL_TOKEN, GPCTL_TOKEN_FILE or the context, the
    authorities of a TLS server from GPCTL_CA_FILE or the context. `timeout`: seconds for one call. `gateway`: the URL of a
    gateway for `run.sample()`, with `gateway_key` if it requires one; a service on this machine has its own.

    Raises Unreachable, NotFound (no such context), InvalidRequest, and IncompatibleVersion for a coordinator of another
    protocol.
    """
    client = Client(find_service(server, context, state_dir, namespace, token_file, ca_file), timeout, gateway, gateway_key)
    try:
        client.transport.ask("Version", api.VersionRequest(), api.VersionResponse)
    except BaseException:
        client.close()
        raise
    return client


def runs(
    *,
    states: collections.abc.Sequence[str] = (),
    labels: collections.abc.Mapping[str, str] | None = None,
    search: str = "",
    user: str = "",
    since: datetime.datetime | None = None,
    limit: int | None = None,
) -> list[Run]:
    """Runs of the coordinator that `connect()` finds; see Client.runs."""
    return connect().runs(states=states, labels=labels, search=search, user=user, since=since, limit=limit)


def compare(a: Run | str, b: Run | str) -> Comparison:
    """Two runs side by side; names are looked up at the coordinator that `connect()` finds."""
    if isinstance(a, Run) and isinstance(b, Run):
        return compare_runs(a, b)
    return connect().compare(a, b)


def _state_of(name: str) -> run_pb2.RunState:
    known = {state_name(number): number for number in run_pb2.RunState.values() if number}
    if name not in known:
        raise InvalidRequest(f"'{name}' is no state of a run; expected one of: {', '.join(known)}")
    return typing.cast(run_pb2.RunState, known[name])
