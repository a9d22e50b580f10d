"""A gateway without a model: serves the pages, and plausible made-up responses of every endpoint that they use.

    fake_gateway.py [--port N] [--key KEY] [--empty] [--token-seconds S]     prints its address, runs until Ctrl-C

For the tests of the pages (FakeGateway in a thread) and for viewing the pages while editing them: each request for a page
builds it again from its sources.
"""

import argparse
import base64
import codecs
import hashlib
import http.server
import json
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

import fake_runs
import fake_sweep
import fake_text

ROOT = pathlib.Path(__file__).resolve().parents[4]
PAGES = ROOT / "client" / "gateway" / "pages"
DYGRAPHS = pathlib.Path("/usr/share/javascript/dygraphs")


def page_text(name):
    """The text of the page, made as in the build."""
    with tempfile.TemporaryDirectory() as folder:
        output = pathlib.Path(folder) / "page.html"
        subprocess.run([sys.executable, ROOT / "scripts" / "inline_page", PAGES / name / "page.html", output,
                        "--path", PAGES / "shared", "--path", DYGRAPHS], check=True)
        return output.read_text(encoding="utf-8")


def security_policy(page):
    """Allows the inline blocks of the page by their hashes, requests to the same origin, and nothing else."""
    def hashes(element):
        blocks = re.findall(rf"<{element}>(.*?)</{element}>", page, re.DOTALL)
        digests = [base64.b64encode(hashlib.sha256(block.encode()).digest()).decode() for block in blocks]
        return " ".join(f"'sha256-{digest}'" for digest in digests)
    return (f"default-src 'none'; script-src {hashes('script')}; style-src {hashes('style')}; img-src 'self' data:; "
            "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")


def error_body(status, message):
    kinds = {400: "invalid_request_error", 401: "invalid_request_error", 404: "not_found_error", 429: "rate_limit_error"}
    return {"error": {"message": message, "type": kinds.get(status, "server_error"), "param": None, "code": str(status)}}


class FakeGateway(http.server.ThreadingHTTPServer):
    """`failures` holds (status, message, retry_seconds) for the next completions; `asked` lists (method, path, body)."""

    daemon_threads = True

    def __init__(self, port=0, key=None, empty=False, token_seconds=0.01):
        super().__init__(("127.0.0.1", port), Handler)
        self.key, self.token_seconds = key, token_seconds
        self.cluster = fake_runs.FakeCluster(empty)
        self.failures, self.asked, self.left_early = [], [], 0
        self.break_after = None       # tokens after which a stream's connection is cut
        self.broken = 0.0             # share of tokens with incomplete characters
        self.hold_after = None        # tokens after which streams wait until `released` is set
        self.released = threading.Event()
        self.stopping, self.sockets = threading.Event(), []
        self.streams_allowed = threading.Event()
        self.streams_allowed.set()
        self.stream_refusal = (503, "the gateway is starting")  # the answer while streams are refused
        self.differences_refusal = None  # (status, message) while /api/v1/differences is refused
        self.streams = []             # run id of each open event stream; None: a stream without a run

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"

    def start(self):
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def process_request(self, request, client_address):
        self.sockets.append(request)
        super().process_request(request, client_address)

    def stop(self):
        """Also ends the connections that browsers keep open, as the end of a process would."""
        self.stopping.set()
        self.released.set()
        self.shutdown()
        self.server_close()
        for one in self.sockets:
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # closed already

    def handle_error(self, request, client_address):
        """Ignores errors, which come from browsers that close their connections."""


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def do_GET(self):
        self.server.asked.append(("GET", self.path, None))
        address = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(address.query))
        if address.path in ("/", "/runs"):
            return self.send_page("playground" if address.path == "/" else "runs")
        if not self.allowed():
            return None
        parts = address.path.strip("/").split("/")
        if address.path == "/v1/models":
            return self.send_json({"object": "list", "data": self.server.cluster.models()})
        if address.path.startswith("/v1/models/"):
            return self.send_model(urllib.parse.unquote(address.path.removeprefix("/v1/models/")))
        if address.path == "/api/v1/events":
            self.server.streams.append(query.get("run"))
            try:
                return self.send_events(query.get("run"))
            finally:
                self.server.streams.remove(query.get("run"))
        if address.path == "/api/v1/workers":
            return self.send_json(self.server.cluster.workers_body())
        if address.path == "/api/v1/differences":
            return self.send_differences(urllib.parse.parse_qs(address.query).get("run", []))
        if parts[:3] == ["api", "v1", "sweeps"]:
            return self.send_sweep(parts[3:])
        if parts[:3] == ["api", "v1", "runs"]:
            return self.send_run(parts[3:], query)
        return self.send_json(error_body(404, f"there is no {address.path}"), 404)

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or "{}")
        self.server.asked.append(("POST", self.path, body))
        if not self.allowed():
            return None
        if self.path == "/tokenize":
            words = re.findall(r"\s*\S+|\s+", body["prompt"])
            return self.send_json({"tokens": list(range(len(words))), "count": len(words), "max_model_len": 1024})
        if self.path == "/v1/completions":
            return self.complete(body)
        return self.send_json(error_body(404, f"there is no {self.path}"), 404)

    def allowed(self):
        if self.server.key in (None, self.headers.get("Authorization", "").removeprefix("Bearer ")):
            return True
        self.send_json(error_body(401, "this gateway requires an API key"), 401)
        return False

    # Answers

    def send_body(self, text, kind, status=200, **headers):
        data = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(data)

    def send_json(self, value, status=200, **headers):
        self.send_body(json.dumps(value), "application/json", status, **headers)

    def send_page(self, name):
        page = page_text(name)
        self.send_body(page, "text/html; charset=utf-8", Content_Security_Policy=security_policy(page), Cache_Control="no-cache")

    def begin_stream(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Cache-Control", "no-cache")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True

    def send_data(self, value):
        self.wfile.write(f"data: {value if isinstance(value, str) else json.dumps(value)}\n\n".encode())
        self.wfile.flush()

    def send_model(self, name):
        entry = self.server.cluster.model_with(name)
        if entry is None:
            return self.send_json(error_body(404, f"there is no model '{name}'; GET /v1/models lists them"), 404)
        return self.send_json({**entry, "id": name})

    # Runs

    def send_run(self, rest, query):
        cluster = self.server.cluster
        if not rest:
            filters = {name: query[name] for name in ("search", "state", "page_token") if name in query}
            labels = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query).get("label", [])
            return self.send_json(cluster.runs_body(int(query.get("limit", 100)), labels=labels, **filters))
        run = cluster.run_with(urllib.parse.unquote(rest[0]))
        if run is None:
            return self.send_json(error_body(404, f"there is no run {rest[0]}"), 404)
        if rest[1:] == ["points"]:
            limit = min(5000, max(50, int(query.get("points", 1000))))
            return self.send_json(run.points(limit, int(query.get("from", 0)), int(query.get("to", 10**9))))
        return self.send_json(run.details())

    def send_sweep(self, rest):
        sweeps = self.server.cluster.sweeps
        if not rest:
            return self.send_json({"sweeps": [fake_sweep.listed(sweep) for sweep in sweeps]})
        sweep = next((one for one in sweeps if one["name"] == urllib.parse.unquote(rest[0])), None)
        if sweep is None:
            return self.send_json(error_body(404, f"there is no sweep {rest[0]}"), 404)
        return self.send_json({"sweep": sweep})

    def send_differences(self, names):
        if self.server.differences_refusal:
            status, message = self.server.differences_refusal
            return self.send_json(error_body(status, message), status)
        runs = [self.server.cluster.run_with(name) for name in names]
        if not 2 <= len(runs) <= 16:
            return self.send_json(error_body(400, f"run: expected 2 to 16 runs to compare, not {len(runs)}"), 400)
        if None in runs:
            return self.send_json(error_body(404, f"there is no run {names[runs.index(None)]}"), 404)
        return self.send_json(self.server.cluster.differences_body(runs))

    def send_events(self, run_id):
        """Sends the full state, then the changes, until the browser leaves or the server stops."""
        cluster = self.server.cluster
        if not self.server.streams_allowed.is_set():
            status, message = self.server.stream_refusal
            return self.send_json(error_body(status, message), status, Retry_After="1")
        self.begin_stream()
        self.send_data({"type": "workers", **cluster.workers_body()})
        run = cluster.run_with(run_id) if run_id else None
        step, checkpoints = (run.step, len(run.checkpoints())) if run else (0, 0)
        if run:
            self.send_data({"type": "run", **run.details()})
        while self.server.streams_allowed.is_set():
            self.send_data({"type": "runs", **cluster.runs_body()})
            if run and run.step > step:
                self.send_data({"type": "points", "run": run.id, "points": run.columns(range(step + 1, run.step + 1))})
                step = run.step
            if run and len(run.checkpoints()) > checkpoints:
                checkpoints = len(run.checkpoints())
                self.send_data({"type": "run", **run.details()})
            if self.server.stopping.wait(0.5):
                return None
        return None

    # Completions

    def complete(self, body):
        if self.server.failures:
            status, message, retry = self.server.failures.pop(0)
            return self.send_json(error_body(status, message), status, **({"Retry_After": str(retry)} if retry else {}))
        entry = self.server.cluster.model_with(body.get("model"))
        if entry is None:
            return self.send_json(error_body(404, f"there is no model '{body.get('model')}'"), 404)
        if body.get("stream"):
            return self.stream(body, entry)
        choices = [self.whole_choice(body, entry, index) for index in range(body.get("n", 1))]
        return self.send_json({**self.frame(entry), "choices": choices, "usage": self.usage(body)})

    def frame(self, entry):
        return {"id": "cmpl-1", "object": "text_completion", "created": int(time.time()),
                "model": f"{entry['root']}@{entry['step']}", "system_fingerprint": "fp_00"}

    def usage(self, body):
        count = body.get("max_tokens", 16) * body.get("n", 1)
        return {"prompt_tokens": 4, "completion_tokens": count, "total_tokens": 4 + count}

    def tokens(self, body, entry, index):
        skill = min(1.0, entry["step"] / 2500)
        source = fake_text.tokens_of(body["prompt"], body.get("seed", 0), index, skill, body.get("temperature", 1),
                                     self.server.broken)
        return (next(source) for _ in range(body.get("max_tokens", 16)))

    def whole_choice(self, body, entry, index):
        data = b"".join(fake_text.piece_bytes(piece) for piece, _, _ in self.tokens(body, entry, index))
        return {"index": index, "text": data.decode(errors="replace"), "logprobs": None, "finish_reason": "length"}

    def stream(self, body, entry):
        self.begin_stream()
        sources = [self.tokens(body, entry, index) for index in range(body.get("n", 1))]
        decoders = [codecs.getincrementaldecoder("utf-8")("replace") for _ in sources]
        stops = body.get("stop") or []
        open_choices = set(range(len(sources)))
        said = [""] * len(sources)
        count = 0
        try:
            while open_choices:
                for index in sorted(open_choices):
                    chunk, reason = self.next_chunk(sources[index], decoders[index], index, body)
                    said[index] += chunk["text"]
                    if any(stop in said[index] for stop in stops):
                        reason = "stop"
                    if reason:
                        open_choices.discard(index)
                    self.send_data({**self.frame(entry), "choices": [{**chunk, "finish_reason": reason}], "usage": None})
                count += 1
                if self.server.break_after is not None and count >= self.server.break_after:
                    return
                if count == self.server.hold_after:
                    self.server.released.wait()
                self.server.stopping.wait(self.server.token_seconds)
        except OSError:
            self.server.left_early += 1
            return
        if (body.get("stream_options") or {}).get("include_usage"):
            self.send_data({**self.frame(entry), "choices": [], "usage": self.usage(body)})
        self.send_data("[DONE]")

    def next_chunk(self, source, decoder, index, body):
        """The next token. Its text is sent once its characters are complete."""
        drawn = next(source, None)
        if drawn is None:
            return {"index": index, "text": decoder.decode(b"", final=True), "logprobs": None if not body.get("logprobs") else
                    {"tokens": [], "token_logprobs": [], "top_logprobs": [], "text_offset": []}}, "length"
        piece, logprob, top = drawn
        logprobs = {"tokens": [piece], "token_logprobs": [logprob], "top_logprobs": [top], "text_offset": [0]}
        return {"index": index, "text": decoder.decode(fake_text.piece_bytes(piece)),
                "logprobs": logprobs if body.get("logprobs") else None}, None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--key")
    parser.add_argument("--empty", action="store_true")
    parser.add_argument("--token-seconds", type=float, default=0.03)
    options = parser.parse_args()
    gateway = FakeGateway(options.port, options.key, options.empty, options.token_seconds)
    print(gateway.url, flush=True)
    try:
        gateway.serve_forever()
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
