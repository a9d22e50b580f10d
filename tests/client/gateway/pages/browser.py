"""Headless Chromium for the tests of the pages: waits for conditions, keeps the console's messages, takes screenshots."""

import base64
import json
import os
import pathlib
import shutil
import sys

ROOT = pathlib.Path(__file__).resolve().parents[4]
SIZES = {"phone": (390, 844), "laptop": (1280, 800), "desktop": (1440, 900)}
WAIT_SECONDS = 120  # a limit for hangs, not for slowness on a busy machine


def skip(reason):
    print(reason)
    sys.exit(77)


try:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.ui import WebDriverWait
except ImportError:
    skip("python3-selenium is not installed")

# Runs before any script of the page; records all policy violations and copied texts.
RECORDER = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (event) =>
  window.violations.push(`${event.effectiveDirective} ${event.blockedURI} ${event.sourceFile}:${event.lineNumber}`));
window.copied = [];
Object.defineProperty(navigator, "clipboard", {value: {writeText: async (text) => { window.copied.push(text); }}});
"""

HERE = pathlib.Path(__file__).resolve().parent
NAMELESS = (HERE / "nameless_controls.js").read_text(encoding="utf-8")
FAINT = (HERE / "faint_texts.js").read_text(encoding="utf-8")


class Browser:
    """One window. `url` is the gateway's address."""

    sizes = SIZES

    def __init__(self, url, size="desktop", dark=False):
        for program in ("chromium", "chromedriver"):
            if not shutil.which(program):
                skip(f"{program} is not installed")
        self.url = url
        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium")
        for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
                     "--no-first-run", "--disable-background-networking", "--disable-component-update"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(service=Service(shutil.which("chromedriver")), options=options)
        self.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": RECORDER})
        self.resize(size)
        self.theme(dark)
        self.console, self.requests = [], []

    def __enter__(self):
        return self

    def __exit__(self, *problem):
        self.driver.quit()

    def resize(self, size):
        width, height = SIZES[size]
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": size == "phone"})

    def theme(self, dark):
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {
            "features": [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]})

    def open(self, path):
        self.driver.get("about:blank")  # a change of the fragment alone would not load the page
        self.driver.get(self.url + path)

    def leave(self):
        """Leaves the page, which ends its timers and requests."""
        self.driver.get("about:blank")

    # Finding and doing

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def one(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def js(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def text(self, selector):
        return self.js("return document.querySelector(arguments[0])?.textContent ?? ''", selector)

    def wait(self, condition, what):
        waiter = WebDriverWait(self.driver, WAIT_SECONDS, poll_frequency=0.05)
        return waiter.until(lambda _: condition(), f"waited for {what}")

    def wait_text(self, selector, words):
        self.wait(lambda: words in self.text(selector), f"{words!r} in {selector}")

    def wait_shown(self, selector):
        shown = lambda: next((one for one in self.all(selector) if one.is_displayed()), None)
        return self.wait(shown, f"{selector} to be shown")

    def click(self, selector):
        element = self.wait_shown(selector)
        self.js("arguments[0].scrollIntoView({block: 'center'})", element)
        element.click()

    def copied(self):
        return self.js("return window.copied.at(-1)")

    # Browser findings

    def collect(self):
        self.console += self.driver.get_log("browser")
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                self.requests.append(message["params"]["request"]["url"])

    def forget(self):
        """Drops the console messages and requests recorded so far."""
        self.collect()
        self.console, self.requests = [], []

    def check_clean(self, network_errors=False):
        """Fails after an error on the console, a violation of the page's policy or a request to another address."""
        self.collect()
        errors = [entry["message"] for entry in self.console if entry["level"] == "SEVERE"
                  and not (network_errors and entry.get("source") == "network")]
        assert not errors, errors
        assert self.js("return window.violations") == [], self.js("return window.violations")
        foreign = [url for url in self.requests if not url.startswith((self.url + "/", "data:", "about:"))]
        assert not foreign, foreign

    def check_accessible(self):
        nameless = self.js(NAMELESS)
        assert not nameless, nameless
        faint = self.js(FAINT)
        assert not faint, faint
        wide = self.js("return document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0, f"the page is {wide} pixels wider than the window"

    def screenshot_folder(self):
        programs = os.environ.get("GP_BIN") or ROOT / "build" / "release" / "bin"
        folder = pathlib.Path(os.environ.get("GP_SCREENSHOTS") or pathlib.Path(programs).parent / "screenshots")
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def screenshot(self, name, whole=True):
        """`whole`: takes the whole page; otherwise only the visible part, without resizing the window."""
        folder = self.screenshot_folder()
        if not whole:
            self.driver.save_screenshot(str(folder / f"{name}.png"))
            return
        height = self.js("return Math.min(4000, document.documentElement.scrollHeight)")
        picture = self.driver.execute_cdp_cmd("Page.captureScreenshot", {
            "captureBeyondViewport": True, "format": "png",
            "clip": {"x": 0, "y": 0, "width": self.js("return innerWidth"), "height": height, "scale": 1}})
        (folder / f"{name}.png").write_bytes(base64.b64decode(picture["data"]))
