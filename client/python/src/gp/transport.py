"""Calls of the coordinator's services, repeated while it is away: a restart in between goes unnoticed.

Thread-safe. One connection; after a fork each process needs a client of its own.
"""

from __future__ import annotations

import collections.abc
import os
import pathlib
import secrets
import time
import typing
import urllib.parse

import google.protobuf.descriptor
import google.protobuf.message
import google.protobuf.message_factory
import grpc

from gp.errors import IncompatibleVersion, InvalidRequest, Unreachable, from_status
from gp.services import Service, stopped_service
from gp.v1 import run_service_pb2 as api
from gp.v1 import sweep_service_pb2 as sweep_api

PROTOCOL = 1  # of the coordinator's API; VersionResponse.protocol must be equal
VERSION = "0.1.0"  # of this package

_OUTAGE_SECONDS_MAX = 60.0  # a stream ends when it could not be reopened for this long
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 0.5  # seconds between attempts
_SOCKET_NAME_BYTES_MAX = 107
_SERVICES = (api.DESCRIPTOR.services_by_name["RunService"], sweep_api.DESCRIPTOR.services_by_name["SweepService"])

Answer = typing.TypeVar("Answer", bound=google.protobuf.message.Message)
Request = google.protobuf.message.Message
Call = collections.abc.Callable[..., typing.Any]


class Transport:
    """A connection to one coordinator."""

    def __init__(self, service: Service, timeout: float) -> None:
        """`timeout`: seconds for one call, all its attempts included."""
        self.service = service
        self.timeout = timeout
        self.coordinator = api.VersionResponse()  # the newest answer
        self._directory: int | None = None  # of a socket whose path is too long for the kernel
        self._channel = self._connect()
        # Methods of RunService by their name, those of others with their service: "SweepService.Get".
        self._calls = {
            name if service is _SERVICES[0] else f"{service.name}.{name}": self._method(service, name)
            for service in _SERVICES
            for name in service.methods_by_name
        }
        self._is_checked = False

    def close(self) -> None:
        self._channel.close()
        if self._directory is not None:
            os.close(self._directory)
            self._directory = None

    def ask(self, method: str, request: Request, answer: type[Answer]) -> Answer:
        """One call. Raises the exceptions of gp.errors."""
        outage = _Outage(self.service, self.timeout)
        while True:
            try:
                return self._ask_once(method, request, answer, outage.left())
            except grpc.RpcError as error:
                self._handle(error, method, outage)

    def stream(
        self,
        method: str,
        request: Request,
        message: type[Answer],
        timeout: float | None = None,
        reopened: collections.abc.Callable[[], None] | None = None,
    ) -> collections.abc.Iterator[Answer]:
        """The messages of a stream, which is opened again after an outage; `reopened` may change the request before.

        `timeout`: seconds in all; TimeoutError after that.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        outage = _Outage(self.service, _OUTAGE_SECONDS_MAX)
        while True:
            call = None
            try:
                self._check_version(self.timeout)
                left = None if deadline is None else max(deadline - time.monotonic(), 0)
                call = self._calls[method](request, timeout=left, metadata=self._metadata())
                for received in call:
                    outage = _Outage(self.service, _OUTAGE_SECONDS_MAX)
                    yield received
                return
            except grpc.RpcError as error:
                if deadline is not None and time.monotonic() >= deadline:
                    raise TimeoutError from error
                self._handle(error, method, outage)
                if reopened is not None:
                    reopened()
            finally:
                if call is not None:
                    call.cancel()

    def _ask_once(self, method: str, request: Request, answer: type[Answer], seconds: float) -> Answer:
        self._check_version(seconds)
        return typing.cast(Answer, self._calls[method](request, timeout=seconds, metadata=self._metadata()))

    def _check_version(self, seconds: float) -> None:
        """Asks for the version at the first call and after each outage, in which the coordinator may have been replaced."""
        if self._is_checked:
            return
        request = api.VersionRequest(protocol=PROTOCOL)
        self.coordinator = self._calls["Version"](request, timeout=seconds, metadata=self._metadata())
        if self.coordinator.protocol != PROTOCOL:
            raise IncompatibleVersion(
                f"the coordinator at {self.service.server} is gp {self.coordinator.version} and speaks protocol "
                f"{self.coordinator.protocol}; this package is {VERSION} and speaks protocol {PROTOCOL}: install the package "
                "of the coordinator's version (pip install ./client/python in its sources)"
            )
        self._is_checked = True

    def _handle(self, error: grpc.RpcError, method: str, outage: _Outage) -> None:
        """Waits before the next attempt, or raises."""
        code, message = error.code(), error.details() or ""
        if code == grpc.StatusCode.UNAVAILABLE:
            self._is_checked = False
            outage.pause(message)
            return
        if code == grpc.StatusCode.UNIMPLEMENTED:
            if not self.coordinator.version:
                raise IncompatibleVersion(f"what answers at {self.service.server} is not a coordinator of gp") from error
            raise IncompatibleVersion(
                f"the coordinator at {self.service.server} (gp {self.coordinator.version}) does not have "
                f"{method}, so it is older than this package ({VERSION}): upgrade it"
            ) from error
        if code == grpc.StatusCode.DEADLINE_EXCEEDED:
            raise Unreachable(
                f"the coordinator at {self.service.server} did not answer {method} within {self.timeout:g} s"
            ) from error
        raise from_status(code, message) from None  # its message says all

    def _metadata(self) -> list[tuple[str, str]]:
        return [("authorization", f"Bearer {self.service.token}")] if self.service.token else []

    def _method(self, service: google.protobuf.descriptor.ServiceDescriptor, name: str) -> Call:
        described = service.methods_by_name[name]
        answer = google.protobuf.message_factory.GetMessageClass(described.output_type)
        make = self._channel.unary_stream if described.server_streaming else self._channel.unary_unary
        return typing.cast(
            Call, make(f"/{service.full_name}/{name}", lambda request: request.SerializeToString(), answer.FromString)
        )

    def _connect(self) -> grpc.Channel:
        # As gpctl's channels, see lib/rpc/channel.h. The server tells callers on a socket apart by the user agent.
        options: list[tuple[str, int | str]] = [
            ("grpc.keepalive_time_ms", 10_000),
            ("grpc.keepalive_timeout_ms", 5_000),
            ("grpc.http2.max_pings_without_data", 0),
            ("grpc.initial_reconnect_backoff_ms", 100),
            ("grpc.min_reconnect_backoff_ms", 5_000),
            ("grpc.max_reconnect_backoff_ms", 2_000),
            ("grpc.use_local_subchannel_pool", 1),
            ("grpc.enable_http_proxy", 0),
            ("grpc.primary_user_agent", f"gp-python/{secrets.token_hex(5)}"),
            ("grpc.max_receive_message_length", 16 << 20),
            ("grpc.max_send_message_length", 16 << 20),
        ]
        if not self.service.has_tls:
            return grpc.insecure_channel(self._target(), options)
        credentials = grpc.ssl_channel_credentials(_read_authorities(self.service.ca_file))
        return grpc.secure_channel(self._target(), credentials, options)

    def _target(self) -> str:
        if not self.service.is_socket:
            return self.service.server
        path = self.service.server.removeprefix("unix:")
        if len(os.fsencode(path)) > _SOCKET_NAME_BYTES_MAX:
            path = self._short_name(path)
        return "unix:" + urllib.parse.quote(path, safe="/._-")

    def _short_name(self, path: str) -> str:
        """Names a socket with a long path through a descriptor of its directory."""
        folder, name = os.path.split(path)
        try:
            self._directory = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise Unreachable(f"{folder}: {error.strerror}") from error
        short = f"/proc/self/fd/{self._directory}/{name}"
        if len(os.fsencode(short)) > _SOCKET_NAME_BYTES_MAX:
            raise InvalidRequest(f"the name of the socket {path} is too long; expected at most 80 bytes")
        return short


class _Outage:
    """The time in which a call has not reached the coordinator. Paces the attempts and ends them."""

    def __init__(self, service: Service, seconds_max: float) -> None:
        self._service = service
        self._seconds_max = seconds_max
        self._begin = time.monotonic()
        self._pause = _FIRST_PAUSE

    def left(self) -> float:
        """Seconds; never negative."""
        return max(self._begin + self._seconds_max - time.monotonic(), 0.0)

    def pause(self, message: str) -> None:
        stopped = stopped_service(self._service)
        if stopped:
            raise Unreachable(stopped)
        if self.left() <= self._pause:
            raise Unreachable(
                f"the coordinator at {self._service.server} cannot be reached "
                f"({message.rpartition(': ')[2]}) after trying for {self._seconds_max:g} s; {self._way_out()}"
            )
        time.sleep(self._pause)
        self._pause = min(2 * self._pause, _LONGEST_PAUSE)

    def _way_out(self) -> str:
        text = "is it running? 'gpctl up' starts one here"
        if self._service.is_socket or self._service.has_tls:
            return text
        return (
            f"{text}; this call did not use TLS, and only a coordinator with --insecure accepts that: "
            f"'gpctl login {self._service.server} --token-file FILE' sets it up"
        )


def _read_authorities(path: str) -> bytes:
    try:
        content = pathlib.Path(path).read_bytes()
    except OSError as error:
        raise InvalidRequest(f"{path}: {error.strerror}; expected the authorities of the coordinator's certificate") from error
    if b"-----BEGIN CERTIFICATE-----" not in content:
        raise InvalidRequest(f"{path} has no certificate in PEM; expected the authorities of the coordinator's certificate")
    return content
