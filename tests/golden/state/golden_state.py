"""Unpacks a golden state (README.md) into a directory of its own."""

import pathlib
import sqlite3
import subprocess
import tempfile

GOLDEN = pathlib.Path(__file__).resolve().parents[1]
ARCHIVES = sorted(GOLDEN.glob("state-*.tar.zst"))
STORE = ".local/state/gp/coordinator/gp.db"
TEXTS = ("service.json", "context", "config.yaml", "run.yaml", "resolved.yaml")


class GoldenState(tempfile.TemporaryDirectory):
    """A context whose value is the directory with home/, text.txt, imported/ and ana.token.

    The state names files by absolute paths. It is moved to a path of the same length, so that texts and the records in the
    database can be changed in place.
    """

    def __init__(self, archive):
        super().__init__(prefix="gp-golden-", dir="/tmp")
        self.archive = archive

    def __enter__(self):
        root = pathlib.Path(super().__enter__())
        subprocess.run(["tar", "--zstd", "-C", root, "-xf", self.archive], check=True)
        origin = (root / "origin").read_text().strip()
        if len(origin) != len(str(root)):
            raise AssertionError(f"{root} and {origin}, where the state was made, are not of one length")
        move(root, origin.encode(), str(root).encode())
        return root


def move(root, origin, target):
    for path in root.rglob("*"):
        if path.name in TEXTS:
            path.write_bytes(path.read_bytes().replace(origin, target))
    store = root / "home" / STORE
    database = sqlite3.connect(store)  # with the journal that the kill left
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database.close()
    store.write_bytes(store.read_bytes().replace(origin, target))
