#!/usr/bin/env python3
"""Runs object_stores_test against an object store that is not part of gp.

    object_stores_test.py moto|swift PROGRAM [ARGUMENT...]

moto is a simulation of AWS; swift is OpenStack Swift with its S3 API, which checks every signature. Both come from
`scripts/bootstrap --object-stores`; without it the test is skipped.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(os.environ["GP_SOURCE"])
FOLDER = SOURCE / ".deps" / "object_stores"
PYTHON = FOLDER / "bin" / "python"
SKIPPED = 77


def continue_in_the_environment():
    if not (FOLDER / "installed-wheels.txt").exists():
        print(f"{FOLDER.relative_to(SOURCE)} is missing; 'scripts/bootstrap --object-stores' installs it")
        sys.exit(SKIPPED)
    if pathlib.Path(sys.prefix) != FOLDER:
        os.execv(PYTHON, [PYTHON, *sys.argv])


def make_bucket(address, access_key, secret_key):
    import boto3
    from botocore.config import Config

    client = boto3.client("s3", endpoint_url=f"http://{address}", region_name="us-east-1", aws_access_key_id=access_key,
                          aws_secret_access_key=secret_key, config=Config(s3={"addressing_style": "path"}))
    client.create_bucket(Bucket="bucket")


def main():
    continue_in_the_environment()
    store, program, *arguments = sys.argv[1:]
    for name in [name for name in os.environ if name.startswith("AWS_") or name.lower().endswith("_proxy")]:
        del os.environ[name]
    with tempfile.TemporaryDirectory(prefix="gp-object-store-") as directory:
        if store == "moto":
            from moto_store import MotoStore as Store
        else:
            from swift_store import SwiftStore as Store
        with Store(pathlib.Path(directory)) as running:
            make_bucket(running.address, running.access_key, running.secret_key)
            environment = {**os.environ, "GP_OBJECT_STORE": running.address, "AWS_ACCESS_KEY_ID": running.access_key,
                           "AWS_SECRET_ACCESS_KEY": running.secret_key}
            return subprocess.run([program, "--gtest_color=no", *arguments], env=environment).returncode


if __name__ == "__main__":
    sys.exit(main())
