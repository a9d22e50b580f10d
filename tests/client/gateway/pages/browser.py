"""Headless Chromium for the tests of the pages: waits on conditions, keeps what the console said, takes screenshots."""

import base64
import json
import os
import pathlib
import shutil
import sys

ROOT = pathlib.Path(__file__).resolve().parents[4]
SIZES = {"phone": (390, 844), "desktop": (1440, 900)}
WAIT_SECONDS = 30


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

# What a script runs before any of the page's: every violation of the policy is kept.
RECORDER = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (event) =>
  window.violations.push(`${event.effectiveDirective} ${event.blockedURI} ${event.sourceFile}:${event.lineNumber}`));
window.copied = [];
Object.defineProperty(navigator, "clipboard", {value: {writeText: async (text) => { window.copied.push(text); }}});
"""

# Every control that has no name for a screen reader, walking the whole document.
NAMELESS = r"""
const named = (element) => {
  const by = (element.getAttribute("aria-labelledby") || "").split(" ").map((id) => document.getElementById(id)?.textContent || "").join("");
  const labels = [...(element.labels || [])].map((label) => label.textContent).join("");
  const content = element.matches("button, a, summary, [role=tab]") ? element.textContent : "";
  return (by + (element.getAttribute("aria-label") || "") + labels + content).trim() !== "";
};
const shown = (element) => element.checkVisibility();
return [...document.querySelectorAll("a, button, input, select, textarea, summary, [tabindex='0'], [role=tab], progress, dialog, nav, svg[role=img], canvas[role=img]")]
  .filter((element) => shown(element) && !named(element) && !element.matches("[aria-hidden=true] *"))
  .map((element) => element.outerHTML.slice(0, 160));
"""

# Text whose contrast with what is behind it is below 4.5 (3 for large text); reads colours as the browser computes them.
CONTRAST = r"""
const context = Object.assign(document.createElement("canvas"), {width: 1, height: 1}).getContext("2d", {willReadFrequently: true});
const rgba = (colour) => { context.clearRect(0, 0, 1, 1); context.fillStyle = colour; context.fillRect(0, 0, 1, 1); return [...context.getImageData(0, 0, 1, 1).data]; };
const over = (top, below) => { const a = top[3] / 255; return [0, 1, 2].map((i) => top[i] * a + below[i] * (1 - a)).concat(255); };
const light = (c) => { const f = c.slice(0, 3).map((v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * f[0] + 0.7152 * f[1] + 0.0722 * f[2]; };
const behind = (element) => {
  const layers = [];
  for (let at = element; at; at = at.parentElement) layers.push(rgba(getComputedStyle(at).backgroundColor));
  return layers.reverse().reduce((below, top) => over(top, below), [255, 255, 255, 255]);
};
const found = [];
for (const element of document.body.querySelectorAll("*")) {
  if (!element.checkVisibility({visibilityProperty: true}) || element.closest("[aria-hidden=true], :disabled, svg, .visually-hidden, .skip")) continue;
  if (![...element.childNodes].some((child) => child.nodeType === 3 && child.data.trim())) continue;
  const style = getComputedStyle(element);
  const back = behind(element);
  const front = over(rgba(style.color), back);
  const [high, low] = [light(front), light(back)].sort((a, b) => b - a);
  const ratio = (high + 0.05) / (low + 0.05);
  const large = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.66 && style.fontWeight >= 700);
  if (ratio < (large ? 3 : 4.5)) found.push(`${ratio.toFixed(2)} ${element.tagName}.${element.className} "${element.textContent.trim().slice(0, 40)}"`);
}
return [...new Set(found)];
"""


class Browser:
    """One window. `url` is the gateway's address."""

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
        return WebDriverWait(self.driver, WAIT_SECONDS, poll_frequency=0.05).until(lambda _: condition(), f"waited for {what}")

    def wait_text(self, selector, words):
        self.wait(lambda: words in self.text(selector), f"{words!r} in {selector}, which says {self.text(selector)[:200]!r}")

    def wait_shown(self, selector):
        return self.wait(lambda: next((one for one in self.all(selector) if one.is_displayed()), None), f"{selector} to be shown")

    def click(self, selector):
        element = self.wait_shown(selector)
        self.js("arguments[0].scrollIntoView({block: 'center'})", element)
        element.click()

    def copied(self):
        return self.js("return window.copied.at(-1)")

    # What the browser noticed

    def collect(self):
        self.console += self.driver.get_log("browser")
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                self.requests.append(message["params"]["request"]["url"])

    def check_clean(self, network_errors=False):
        """No error on the console, nothing that the policy blocked, no request to elsewhere."""
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
        faint = self.js(CONTRAST)
        assert not faint, faint
        wide = self.js("return document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0, f"the page is {wide} pixels wider than the window"

    def screenshot(self, name, whole=True):
        """`whole`: all of the page; else what the window shows, which then stays as it is."""
        programs = os.environ.get("GP_BIN") or ROOT / "build" / "release" / "bin"
        folder = pathlib.Path(os.environ.get("GP_SCREENSHOTS") or pathlib.Path(programs).parent / "screenshots")
        folder.mkdir(parents=True, exist_ok=True)
        if not whole:
            self.driver.save_screenshot(str(folder / f"{name}.png"))
            return
        height = self.js("return Math.min(4000, document.documentElement.scrollHeight)")
        picture = self.driver.execute_cdp_cmd("Page.captureScreenshot", {
            "captureBeyondViewport": True, "format": "png",
            "clip": {"x": 0, "y": 0, "width": self.js("return innerWidth"), "height": height, "scale": 1}})
        (folder / f"{name}.png").write_bytes(base64.b64decode(picture["data"]))
