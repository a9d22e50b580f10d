#!/usr/bin/env python3
"""Both pages behind a proxy that serves the gateway below a path, as notebooks, remote editors and ingresses do."""

import contextlib
import http.client
import http.server
import threading

import page_case


class StrippingProxy(http.server.ThreadingHTTPServer):
    """Forwards /gp/PATH as /PATH, including streams; other paths are not found."""

    daemon_threads = True

    def __init__(self, gateway_port):
        super().__init__(("127.0.0.1", 0), Handler)
        self.gateway_port = gateway_port

    def handle_error(self, request, client_address):
        """Ignores errors, which come from browsers that close their connections."""


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *arguments):
        pass

    def pass_on(self):
        if not self.path.startswith("/gp/"):
            return self.send_error(404)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.server.gateway_port)) as gateway:
            self.answer_as(gateway, body)

    def answer_as(self, gateway, body):
        gateway.request(self.command, self.path.removeprefix("/gp"), body or None, dict(self.headers))
        response = gateway.getresponse()
        self.send_response(response.status)
        for name, value in response.getheaders():
            if name.lower() not in ("transfer-encoding", "connection"):
                self.send_header(name, value)
        self.end_headers()
        while piece := response.read1(65536):
            self.wfile.write(piece)
            self.wfile.flush()

    do_GET = do_POST = pass_on


class UnderAPath(page_case.PageCase):
    def start_gateway(self, **options):
        super().start_gateway(**options)
        proxy = StrippingProxy(self.gateway.server_port)
        threading.Thread(target=proxy.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        self.addCleanup(proxy.server_close)
        self.addCleanup(proxy.shutdown)
        self.browser.url = f"http://127.0.0.1:{proxy.server_port}/gp"

    # Case gateway-and-pages/12: pages that a proxy serves under a path found nothing.
    def test_both_pages_and_the_links_between_them(self):
        self.fake()
        self.browser.open("/")
        self.browser.wait_shown("#generate")
        self.browser.one("#prompt").send_keys("The machine")
        self.browser.click("#generate")
        self.browser.wait_shown(".token")
        self.browser.click('.top nav a[data-page="runs"]')
        self.browser.wait_shown("#run-list [data-run]")
        self.browser.click('.top nav a[data-page="playground"]')
        self.browser.wait_shown("#generate")
        self.browser.check_clean()

    def test_the_code_names_the_address_of_the_proxy(self):
        self.fake()
        self.browser.open("/")
        self.browser.wait_shown("#generate")
        self.assertIn(f"{self.browser.url}/v1/completions", self.browser.js("return curlText('demo')"))
        self.assertIn(f"{self.browser.url}/v1\"", self.browser.js("return pythonText('demo')"))


if __name__ == "__main__":
    page_case.main()
