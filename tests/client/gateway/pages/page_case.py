"""The base class for the tests of both pages: a gateway, a browser, screenshots and the command line.

    NAME_page_test.py [--url http://HOST:PORT] [TEST...]

--url: a real gateway with at least one model, in place of the fake.
"""

import argparse
import sys
import unittest

import browser
import fake_gateway


class PageCase(unittest.TestCase):
    """One browser for all cases of a class. A case that needs the fake gateway calls fake(); --url skips such cases."""

    url = None
    gateway = None

    @classmethod
    def setUpClass(cls):
        if not fake_gateway.DYGRAPHS.is_dir():
            browser.skip("libjs-dygraphs is not installed")
        cls.browser = browser.Browser(cls.url or "")

    @classmethod
    def tearDownClass(cls):
        cls.browser.driver.quit()

    def setUp(self):
        self.browser.forget()
        self.browser.resize("desktop")
        self.browser.theme(False)
        if self.url is None:
            self.start_gateway()

    def fake(self, **options):
        """The fake gateway. With options, starts a new one and uses it instead."""
        if self.url is not None:
            self.skipTest("needs the fake gateway")
        if options:
            self.start_gateway(**options)
        return self.gateway

    def start_gateway(self, **options):
        self.gateway = fake_gateway.FakeGateway(**options).start()
        self.addCleanup(self.gateway.stop)
        # Runs before the gateway stops: otherwise the open page would call a closed port, and the next case would find
        # that error on its console.
        self.addCleanup(self.browser.leave)
        self.browser.url = self.gateway.url

    def asked(self, path):
        """Bodies of POSTs and addresses of GETs that began with `path`, in their order."""
        entries = [entry for entry in list(self.gateway.asked) if entry[1].startswith(path)]
        return [address if body is None else body for _, address, body in entries]

    def look(self, name):
        """Screenshots at three widths in two themes; in each, every control has a name and every text enough contrast."""
        for dark in (False, True):
            for size in browser.SIZES:
                self.browser.theme(dark)
                self.browser.resize(size)
                self.settle()
                self.browser.screenshot(f"{name}-{size}-{'dark' if dark else 'light'}")
                self.browser.check_accessible()

    def settle(self):
        """Waits until the transitions have ended and the page has drawn again, because charts follow a change of size."""
        self.browser.driver.execute_async_script(
            "const done = arguments[0], frame = (then) => requestAnimationFrame(then);"
            "const passing = document.getAnimations().filter((one) => one.effect.getTiming().iterations === 1);"
            "Promise.allSettled(passing.map((one) => one.finished)).then(() => frame(() => frame(() => frame(done))))")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--url")
    options, rest = parser.parse_known_args()
    PageCase.url = options.url and options.url.rstrip("/")
    unittest.main(argv=sys.argv[:1] + rest, verbosity=2)
