"""A stand-in for the server of W&B that keeps what `wandb sync` uploads: the part of its API that the client uses for a run."""

import gzip
import http.server
import json
import threading


class FakeWandb(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.history = {}  # run id -> lines of the history, by their number
        self.runs = {}     # run id -> the variables of UpsertBucket
        self.ended = {}    # run id -> exit code
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, request, client_address):
        """Ignores errors, which come from clients that close their connections."""

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"

    def stop(self):
        self.shutdown()
        self.server_close()

    def rows(self, run_id):
        """The history by step. Fails if a step is there twice."""
        rows = [json.loads(line) for _, line in sorted(self.history[run_id].items())]
        steps = {row["_step"]: row for row in rows}
        assert len(steps) == len(rows), f"{len(rows)} rows have {len(steps)} steps"
        return steps


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def do_GET(self):
        self.answer({})

    def do_PUT(self):
        self.body()
        self.answer({})

    def do_POST(self):
        body = self.body()
        if self.path == "/graphql":
            return self.answer({"data": self.graphql(json.loads(body))})
        if self.path.endswith("/file_stream"):
            self.take(self.path.split("/")[-2], json.loads(body))
        return self.answer({})

    def graphql(self, request):
        values = request.get("variables") or {}
        if request["operationName"] == "UpsertBucket":
            known = {key: value for key, value in values.items() if value is not None}  # null: unchanged
            self.server.runs.setdefault(values["name"], {}).update(known)
            project = {"name": values["project"], "entity": {"name": "team"}}
            bucket = {"id": values["name"], "name": values["name"], "project": project,
                      "displayName": self.server.runs[values["name"]].get("displayName")}
            return {"upsertBucket": {"bucket": bucket, "inserted": True}}
        if request["operationName"] == "CreateRunFiles":
            files = [{"name": name, "uploadUrl": f"{self.server.url}/upload/{name}"} for name in values["files"]]
            return {"createRunFiles": {"runID": values["run"], "uploadHeaders": [], "files": files}}
        return {}

    def take(self, run_id, body):
        lines = self.server.history.setdefault(run_id, {})
        part = body.get("files", {}).get("wandb-history.jsonl")
        if part:
            if part["offset"] == 0:  # an upload replaces the earlier one
                lines.clear()
            lines.update(enumerate(part["content"], part["offset"]))
        if body.get("complete"):
            self.server.ended[run_id] = body.get("exitcode")

    def body(self):
        data = self.chunks() if self.headers.get("Transfer-Encoding") == "chunked" else self.rfile.read(
            int(self.headers.get("Content-Length", 0)))
        return gzip.decompress(data) if self.headers.get("Content-Encoding") == "gzip" else data

    def chunks(self):
        data = b""
        while size := int(self.rfile.readline().strip() or b"0", 16):
            data += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return data

    def answer(self, value):
        text = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)
