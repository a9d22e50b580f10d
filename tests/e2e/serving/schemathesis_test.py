"""schemathesis generates valid and invalid requests from /openapi.json. No answer is a 5xx, and every answer matches the
description."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import serving

serving.use_clients_python()

CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"
SECONDS = 60


def write_description(gateway, path):
    """Saves the gateway's description without the schemas of event streams, which the tool would compare with each single
    event."""
    _, _, description = gateway.request("GET", "/openapi.json")
    for operations in description["paths"].values():
        for operation in operations.values():
            for response in operation.get("responses", {}).values() if isinstance(operation, dict) else []:
                response.get("content", {}).get("text/event-stream", {}).pop("schema", None)
    path.write_text(json.dumps(description), encoding="utf-8")


class Schemathesis(unittest.TestCase):
    def test_no_request_is_answered_with_a_server_error(self):
        scratch = self.enterContext(tempfile.TemporaryDirectory(prefix="gp-schemathesis-"))
        run = serving.train(scratch, "bytes", "bytes", steps=20)
        gateway = self.enterContext(serving.Gateway({"bytes": run}))
        gateway.complete(model="bytes", prompt="there is a model", max_tokens=3)
        description = pathlib.Path(scratch, "openapi.json")
        write_description(gateway, description)
        done = subprocess.run(
            [sys.executable, "-m", "schemathesis.cli", "run", description, "--url", gateway.url, "--checks", CHECKS, "--continue-on-failure",
             "--phases", "examples,coverage,fuzzing", "--max-time", str(SECONDS), "--seed", "1",
             "--request-timeout", "60", "--suppress-health-check", "all", "--warnings", "off",
             # Excluded, because this event stream never ends by itself.
             "--exclude-path", "/api/v1/events"],
            cwd=scratch, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=280)
        self.assertEqual(done.returncode, 0, done.stdout[-8000:])
        print(done.stdout[-3000:])
        self.assertEqual(gateway.request("GET", "/livez")[0], 200)
        gateway.complete(model="bytes", prompt="still here", max_tokens=3)


if __name__ == "__main__":
    unittest.main()
