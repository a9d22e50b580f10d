"""Texts of a model, from a gateway's completions API over HTTP."""

from __future__ import annotations

import collections.abc
import dataclasses
import json
import time
import typing
import urllib.error
import urllib.parse
import urllib.request

from gp.errors import Conflict, Error, InvalidRequest, LimitReached, NotAllowed, NotFound, Unreachable

_BY_STATUS: dict[int, type[Error]] = {
    400: InvalidRequest,
    401: NotAllowed,
    403: NotAllowed,
    404: NotFound,
    409: Conflict,
    429: LimitReached,
    503: Unreachable,
}
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_PAUSE_SECONDS = 1.0  # before a busy gateway is asked again, unless it says how long


@dataclasses.dataclass(frozen=True)
class Gateway:
    """A gateway at a URL. `timeout`: seconds for one text, a busy gateway's refusals included."""

    url: str
    key: str = dataclasses.field(default="", repr=False)
    timeout: float = 120.0
    is_local: bool = True  # no proxy of the environment comes between

    def complete(self, request: collections.abc.Mapping[str, object]) -> str:
        """The text that continues request["prompt"]."""
        deadline = time.monotonic() + self.timeout
        while True:
            try:
                answer = self._post("/v1/completions", request, deadline - time.monotonic())
                return str(answer["choices"][0]["text"])
            except urllib.error.HTTPError as error:
                pause = _retry_after(error)
                if pause is None or time.monotonic() + pause >= deadline:
                    raise self._error_of(error) from error
                time.sleep(pause)
            except (OSError, ValueError, LookupError) as error:
                raise Unreachable(f"the gateway at {self.url} cannot be reached or did not answer as one: {error}") from error

    def _post(self, path: str, request: collections.abc.Mapping[str, object], seconds: float) -> typing.Any:
        headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {self.key}"} if self.key else {})}
        call = urllib.request.Request(self.url.rstrip("/") + path, json.dumps(request).encode(), headers)
        opener = urllib.request.build_opener(*([urllib.request.ProxyHandler({})] if self.is_local else []))
        with opener.open(call, timeout=max(seconds, 0.001)) as answer:
            return json.load(answer)

    def _error_of(self, error: urllib.error.HTTPError) -> Error:
        try:
            message = str(json.load(error)["error"]["message"])
        except (ValueError, LookupError, TypeError):
            message = error.reason
        return _BY_STATUS.get(error.code, Error)(f"the gateway at {self.url}: {message}")


def gateway_at(url: str, key: str) -> Gateway:
    """The gateway at a URL that a user named. Raises InvalidRequest for another URL, or if others could read the key."""
    parts = urllib.parse.urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InvalidRequest(f"'{url}' is not the address of a gateway; expected http://HOST:PORT or https://HOST:PORT")
    is_local = parts.hostname in _LOOPBACK
    if key and parts.scheme == "http" and not is_local:
        raise InvalidRequest(f"the key is not sent to {url}, because others could read it on the way; use https://")
    return Gateway(url, key, is_local=is_local)


def _retry_after(error: urllib.error.HTTPError) -> float | None:
    """Seconds until the gateway may be asked again; None: asking again does not help."""
    if error.code not in (429, 503):
        return None
    try:
        return max(float(error.headers.get("Retry-After", _PAUSE_SECONDS)), 0.05)
    except ValueError:
        return _PAUSE_SECONDS
