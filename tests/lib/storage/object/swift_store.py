"""OpenStack Swift with its S3 API: account, container, object and proxy server in one process of their own.

Executed as a program, it serves from a directory and prints its address; it ends when its standard input does.
"""

import pathlib
import subprocess
import sys
import warnings

ACCESS_KEY = "test:tester"
SECRET_KEY = "testing"

PROXY_SETTINGS = f"""
[pipeline:main]
pipeline = catch_errors memory listing_formats bulk s3api tempauth slo proxy-server

[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true

[filter:catch_errors]
use = egg:swift#catch_errors

[filter:memory]
paste.filter_factory = swift_store:memory_filter

[filter:listing_formats]
use = egg:swift#listing_formats

[filter:bulk]
use = egg:swift#bulk

[filter:s3api]
use = egg:swift#s3api
location = us-east-1
s3_acl = false

[filter:tempauth]
use = egg:swift#tempauth
user_{ACCESS_KEY.replace(":", "_")} = {SECRET_KEY} .admin

[filter:slo]
use = egg:swift#slo
"""

SWIFT_SETTINGS = """
[swift-hash]
swift_hash_path_suffix = suffix

[storage-policy:0]
name = one
default = yes
"""


class Memory:
    """What the servers use of memcached."""

    def __init__(self):
        self.values = {}

    def get(self, key, **_):
        return self.values.get(key)

    def set(self, key, value, **_):
        self.values[key] = value

    def incr(self, key, delta=1, **_):
        self.values[key] = self.values.get(key, 0) + delta
        return self.values[key]

    def delete(self, key, **_):
        self.values.pop(key, None)


def memory_filter(_settings, **_options):
    memory = Memory()

    def add_memory(application):
        def call(environment, start_response):
            environment["swift.cache"] = memory
            return application(environment, start_response)
        return call
    return add_memory


def write_ring(directory, name, port):
    from swift.common.ring import RingBuilder

    builder = RingBuilder(part_power=1, replicas=1, min_part_hours=0)
    builder.add_dev({"id": 0, "region": 1, "zone": 1, "weight": 1.0, "ip": "127.0.0.1", "port": port,
                     "replication_ip": "127.0.0.1", "replication_port": port, "device": "disk", "meta": ""})
    builder.rebalance()
    builder.get_ring().save(str(directory / f"{name}.ring.gz"))


def serve(directory):
    warnings.simplefilter("ignore")  # eventlet says that it is deprecated
    import eventlet
    eventlet.monkey_patch()
    import eventlet.wsgi
    from swift.account import server as account
    from swift.common import storage_policy, utils, wsgi
    from swift.common.http_protocol import SwiftHttpProtocol
    from swift.container import server as container
    from swift.obj import server as object_server

    settings = {"devices": str(directory), "mount_check": "false", "swift_dir": str(directory), "fallocate_reserve": "0"}
    (directory / "swift.conf").write_text(SWIFT_SETTINGS)
    utils.set_swift_dir(str(directory))
    utils.validate_hash_conf()
    storage_policy.reload_storage_policies()
    logger = utils.get_logger({"log_level": "CRITICAL"})
    sockets = {name: eventlet.listen(("127.0.0.1", 0)) for name in ("account", "container", "object", "proxy")}
    for name in ("account", "container", "object"):
        write_ring(directory, name, sockets[name].getsockname()[1])
    (directory / "proxy-server.conf").write_text(PROXY_SETTINGS)
    applications = {"account": account.AccountController(settings, logger=logger),
                    "container": container.ContainerController(settings, logger=logger),
                    "object": object_server.ObjectController(settings, logger=logger),
                    "proxy": wsgi.loadapp(str(directory / "proxy-server.conf"), global_conf=settings)}
    for name, application in applications.items():
        eventlet.spawn(eventlet.wsgi.server, sockets[name], application, utils.NullLogger(), protocol=SwiftHttpProtocol,
                       log_output=False)
    print("127.0.0.1:%d" % sockets["proxy"].getsockname()[1], flush=True)
    eventlet.tpool.execute(sys.stdin.read)


class SwiftStore:
    access_key = ACCESS_KEY
    secret_key = SECRET_KEY

    def __init__(self, directory):
        (directory / "disk").mkdir()
        self.server = subprocess.Popen([sys.executable, __file__, directory], stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, text=True)

    def __enter__(self):
        self.address = self.server.stdout.readline().strip()
        if not self.address:
            raise RuntimeError("swift did not start; its error is above")
        return self

    def __exit__(self, *_):
        self.server.stdin.close()
        self.server.wait(timeout=60)


if __name__ == "__main__":
    serve(pathlib.Path(sys.argv[1]))
