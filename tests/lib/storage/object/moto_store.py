"""moto, a simulation of AWS, as a server in a thread of this process."""

import logging
import threading


class MotoStore:
    access_key = "AKIDMOTO"
    secret_key = "moto-secret"

    def __init__(self, directory):
        del directory  # it keeps objects in memory
        from moto.server import DomainDispatcherApplication, create_backend_app
        from werkzeug.serving import make_server

        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        application = DomainDispatcherApplication(create_backend_app)
        self.server = make_server("127.0.0.1", 0, application, threaded=True)
        self.address = f"127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.thread.join()
