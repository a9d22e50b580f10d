#!/usr/bin/env python3
"""The page of runs in headless Chromium: charts, zoom, overlays, events, checkpoints. Command line: see page_case.py."""

import base64
import math
import pathlib
import tempfile
import urllib.parse

import page_case
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

# State of the loss chart: its window, the number of its rows, and its curves.
CHART = """const chart = group.charts[0];
return {rows: chart.rows?.length ?? 0, curves: (chart.curves ?? []).map((one) => one.run.name + " " + one.kind),
        window: chart.graph?.xAxisRange() ?? null, log: chart.graph?.getOption("logscale") ?? null,
        first: chart.rows?.[0]?.[0] ?? null, last: chart.rows?.at(-1)?.[0] ?? null}"""

# Number of pixels of a chart's canvas in about the colour of the first run.
INKED = """const canvas = document.querySelectorAll(".chart")[arguments[0]].querySelector("canvas");
const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
const ink = themeColour("var(--series-0)").match(/\\d+/g).map(Number);
let count = 0;
for (let i = 0; i < data.length; i += 4) {
  const distance = ink.reduce((sum, value, channel) => sum + Math.abs(data[i + channel] - value), 0);
  if (data[i + 3] > 120 && distance < 40) count += 1;
}
return count;"""


# Labels of a chart's vertical axis.
LABELS = """const labels = document.querySelectorAll(".chart")[arguments[0]].querySelectorAll(".dygraph-axis-label-y");
return [...labels].map((one) => one.textContent.trim()).filter((text) => text)"""


# The colours of the lines as a person with normal sight, protanopia, deuteranopia and tritanopia sees them (Machado 2009),
# in OKLab: for the current theme, the smallest distance of any two, and the smallest contrast with the charts' surface.
PALETTE = """const linear = (value) => value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
const rgbOf = (name) => themeColour(`var(--${name})`).match(/[\\d.]+/g).slice(0, 3).map((value) => linear(value / 255));
const times = (matrix, colour) => matrix.map((row) => row.reduce((sum, value, i) => sum + value * colour[i], 0));
const labOf = (colour) => times([[0.2104542553, 0.793617785, -0.0040720468], [1.9779984951, -2.428592205, 0.4505937099],
  [0.0259040371, 0.7827717662, -0.808675766]], times([[0.4122214708, 0.5363325363, 0.0514459929],
  [0.2119034982, 0.6806995451, 0.1073969566], [0.0883024619, 0.2817188376, 0.6299787005]], colour).map(Math.cbrt));
const SIGHTS = [[[1, 0, 0], [0, 1, 0], [0, 0, 1]],
  [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
  [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
  [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]]];
const colours = Array.from({length: COLOUR_COUNT}, (_, i) => rgbOf(`series-${i}`));
const distances = SIGHTS.flatMap((sight) => {
  const seen = colours.map((colour) => labOf(times(sight, colour).map((value) => Math.min(1, Math.max(0, value)))));
  return seen.flatMap((one, i) => seen.slice(i + 1).map((other) => Math.hypot(...one.map((value, k) => value - other[k]))));
});
const luminance = (colour) => 0.2126 * colour[0] + 0.7152 * colour[1] + 0.0722 * colour[2];
const surface = luminance(rgbOf("surface"));
const contrasts = colours.map(luminance).map((one) => (Math.max(one, surface) + 0.05) / (Math.min(one, surface) + 0.05));
return [Math.min(...distances), Math.min(...contrasts)];"""

PICTURE_TEXT = "return new ChartPicture(group.charts[arguments[0]]).text()"


class Runs(page_case.PageCase):

    def open(self, fragment=""):
        self.browser.open("/runs" + fragment)
        self.browser.wait_shown("#run-list [data-run]")
        self.browser.wait(lambda: self.chart()["rows"] > 0, "points in the loss chart")

    def chart(self):
        return self.browser.js(CHART)

    def run_named(self, name):
        return self.gateway.cluster.run_with(name)

    def item(self, name):
        return f'[data-run="{self.run_named(name).id}"]'

    def points_asked(self):
        """The queries of all requests for points."""
        addresses = [urllib.parse.urlsplit(address) for address in self.asked("/api/v1/runs/")]
        return [dict(urllib.parse.parse_qsl(one.query)) for one in addresses if one.path.endswith("/points")]

    def drag(self, selector, begin, end):
        """Drags across an element from `begin` to `end`, which are fractions of its width."""
        element = self.browser.one(selector)
        self.browser.js("arguments[0].scrollIntoView({block: 'center'})", element)
        width = element.size["width"]
        hand = ActionChains(self.browser.driver, duration=30)
        hand.move_to_element_with_offset(element, (begin - 0.5) * width, 0).click_and_hold()
        for _ in range(2):
            hand.move_by_offset((end - begin) * width / 2, 0)
        hand.release().perform()

    # The list

    def test_list_says_what_each_run_does_and_why(self):
        self.fake()
        self.open()
        self.browser.wait_text(self.item("demo"), "running")
        self.assertRegex(self.browser.text(self.item("demo")), r"2,\d+ / 6,000 · \d+ min( \d+ s)? left · loss \d")
        self.assertIn("1st in the queue", self.browser.text(self.item("gpt2-124m")))
        self.assertIn("waits for 8 free slots with a GPU", self.browser.text(self.item("gpt2-124m")))
        self.assertIn("failed 3 times in a row", self.browser.text(self.item("muon-test")))
        self.assertEqual(self.browser.one(self.item("demo") + " .open").get_attribute("aria-current"), "true")
        self.browser.check_clean()

    def names(self):
        """The names of the runs in the list, from top to bottom."""
        return self.browser.js("return [...document.querySelectorAll('#run-list .name')].map((one) => one.textContent)")

    def test_a_long_list_says_how_many_runs_there_are_and_shows_more(self):
        self.fake().cluster.add_sweep(240)
        self.open()
        self.assertEqual(self.names()[:2], ["demo", "sweep-0240"], "what trains is on top")
        self.assertEqual(len(self.names()), 100)
        self.assertEqual(self.browser.text("#runs-shown"), "Showing 100 of 246")
        self.assertEqual(self.browser.text("#runs-count"), "1 running · 241 waiting")
        self.browser.one("#more-runs").click()
        self.browser.wait_text("#runs-shown", "Showing 200 of 246")
        self.browser.one("#more-runs").click()
        self.browser.wait(lambda: len(self.names()) == 246, "all runs")
        self.assertFalse(self.browser.one("#runs-foot").is_displayed())
        self.browser.check_clean()

    def choose(self, selector, value):
        self.browser.js("""const field = document.querySelector(arguments[0]); field.value = arguments[1];
                           field.dispatchEvent(new Event("change"));""", selector, value)

    def test_the_list_shows_more_than_a_thousand_runs(self):
        self.fake().cluster.add_sweep(1194)
        self.open()
        for count in ("200", "400", "800"):
            self.browser.one("#more-runs").click()
            self.browser.wait_text("#runs-shown", f"Showing {count} of 1,200")
        self.browser.one("#more-runs").click()
        self.browser.wait(lambda: len(set(self.names())) == 1200, "all runs")
        self.assertFalse(self.browser.one("#runs-foot").is_displayed())
        self.browser.check_clean()

    def test_an_order_is_that_of_all_runs(self):
        self.fake().cluster.add_sweep(1194)
        self.open()
        self.choose("#run-order", "loss")
        self.browser.wait(lambda: self.names()[0] == "overfit" or self.names()[0] == "jargon-wide", "the lowest loss")
        self.assertEqual(len(self.names()), 100)
        self.assertEqual(self.browser.text("#runs-shown"), "Showing 100 of 1,200")
        losses = self.browser.js("return search.runs.map((run) => run.loss).filter((loss) => loss !== null)")
        self.assertEqual(losses, sorted(losses))
        self.assertEqual(len(losses), 5, "runs without a loss come last")
        self.choose("#run-order", "oldest")
        self.browser.wait(lambda: self.names()[0] == "overfit", "the oldest run")
        self.choose("#run-order", "name")
        self.browser.wait(lambda: self.names()[:3] == ["demo", "gpt2-124m", "jargon-small"], "the order of names")
        self.choose("#run-order", "validation_loss")
        self.browser.wait_text(self.item("demo") + " .facts", "val. loss ")
        self.choose("#run-order", "")
        self.browser.wait(lambda: self.names()[:2] == ["demo", "sweep-1194"], "the gateway's order")
        self.browser.check_clean()

    def test_filters_and_order_are_there_after_a_reload(self):
        self.fake().cluster.add_sweep(30)
        self.open()
        self.choose("#run-order", "name")
        self.browser.one(self.item("sweep-0030") + " .chip").click()
        self.browser.wait(lambda: len(self.names()) == 10 and self.names()[0] == "sweep-0003", "the filtered list")
        self.browser.wait(lambda: "sweep%3Dthird" in self.browser.driver.current_url, "the link")
        self.browser.driver.refresh()
        self.browser.wait(lambda: len(self.names()) == 10 and self.names()[0] == "sweep-0003", "the list again")
        self.assertEqual(self.browser.text("#run-title"), "demo")

    def test_a_reason_that_many_runs_wait_for_is_there_once(self):
        cluster = self.fake().cluster
        cluster.add_sweep(20)
        for run in cluster.runs:
            if run.name.startswith("sweep"):
                run.reason = "queue: behind run r-1 (big), which needs 8 GPU slots"
        cluster.run_with("sweep-0007").reason = "asks for more than there is"
        self.open()
        whys = lambda: self.browser.js("return [...document.querySelectorAll('#run-list .why')].map((one) => one.textContent)")
        self.browser.wait(lambda: len(whys()) == 26, "the list")
        self.assertEqual(sum("behind run r-1" in why for why in whys()), 2, "again after the run with another reason")
        self.assertEqual(sum("asks for more" in why for why in whys()), 1)
        self.assertFalse([why for why in whys() if "queue" in why], "the place in the queue is beside it")
        self.browser.click(self.item("sweep-0003") + " .open")
        self.browser.wait(lambda: self.browser.text("#run-reason") ==
                          "5th in the queue: behind run r-1 (big), which needs 8 GPU slots", "the reason of the open run")
        self.assertEqual(sum("waits for 8 free slots" in why for why in whys()), 1)

    def test_a_run_with_a_warning_does_not_look_well(self):
        cluster = self.fake().cluster
        small, demo = cluster.run_with("jargon-small"), cluster.run_with("demo")
        small.warning = "diverged: the training loss 9.8 at step 19000 is far above ln(256) = 5.5; lower optimizer.lr"
        demo.warning = "checkpoint: the disk is full; training continues without it"
        self.open(f"#run={small.id}")
        self.browser.wait_text("#run-reason", "diverged: the training loss")
        for badge, words in (("#run-state", "⚠ diverged"), (self.item("jargon-small") + " .badge", "⚠ diverged"),
                             (self.item("demo") + " .badge", "⚠ running")):
            self.assertEqual(self.browser.text(badge), words)
            self.assertEqual(self.browser.one(badge).get_attribute("class"), "badge warn")
        ended = self.browser.wait_shown("#events .badge")
        self.assertEqual((ended.text, ended.get_attribute("class")), ("ended", "badge warn"))
        self.assertEqual(self.browser.text(self.item("muon-test") + " .badge"), "failed")

    def test_labels_of_the_open_run_filter_the_list(self):
        self.fake()
        self.open(f"#run={self.run_named('jargon-small').id}")
        self.browser.wait_text("#run-labels", "team=research")
        self.browser.click("#run-labels .chip")
        self.browser.wait(lambda: self.names() == ["jargon-small"], "the runs with the label")
        self.browser.check_accessible()

    def test_runs_are_found_by_text_state_and_label(self):
        self.fake().cluster.add_sweep(240)
        self.open()
        self.browser.one("#run-search").send_keys("JARGON")
        self.browser.wait(lambda: self.names() == ["jargon-small", "jargon-wide"], "the runs that match")
        self.browser.one("#run-search").send_keys("-none")
        self.browser.wait_text("#run-list", "None match.")
        self.browser.js("""const field = document.querySelector("#run-search"); field.value = "";
                           field.dispatchEvent(new Event("input"));""")
        self.browser.wait(lambda: len(self.names()) == 100, "the whole list again")
        self.browser.js("""const field = document.querySelector("#run-state-filter"); field.value = "failed";
                           field.dispatchEvent(new Event("change"));""")
        self.browser.wait(lambda: self.names() == ["muon-test"], "the failed run")
        self.browser.js("""const field = document.querySelector("#run-state-filter"); field.value = "";
                           field.dispatchEvent(new Event("change"));""")
        self.browser.wait(lambda: len(self.names()) == 100, "the whole list again")
        self.browser.one(self.item("sweep-0240") + " .chip").click()
        self.browser.wait(lambda: len(self.names()) == 80, "the runs with the label")
        self.assertEqual(self.browser.text("#run-label-filter"), "sweep=third ×")
        self.browser.one("#run-search").send_keys("sweep-00")
        self.browser.wait(lambda: len(self.names()) == 33, "those of them that match")
        self.browser.one("#run-label-filter").click()
        self.browser.wait(lambda: len(self.names()) == 99, "all that match")
        self.browser.one("#run-search").send_keys(Keys.CONTROL, "a")
        self.browser.one("#run-search").send_keys("jargon team=research")
        self.browser.wait(lambda: self.names() == ["jargon-small"], "the run with the typed label")
        self.browser.one("#run-search").send_keys("es")
        self.browser.wait_text("#run-list", "None match.")
        self.browser.check_clean()

    def test_a_link_opens_a_run_that_is_not_in_the_list(self):
        self.fake().cluster.add_sweep(240)
        for link in ("jargon-wide", self.run_named("jargon-wide").id):
            self.open(f"#run={link}")
            self.browser.wait_text("#run-title", "jargon-wide")
            self.assertNotIn("jargon-wide", self.names())
        self.browser.check_clean()

    def test_a_link_to_no_run_says_so_and_opens_no_other(self):
        self.fake()
        self.browser.open("/runs#run=nothing")
        self.browser.wait_text("#run-title", "nothing")
        self.assertEqual(self.browser.text("#run-state"), "not found")
        self.browser.wait_text("#run-reason", "there is no run nothing. Choose a run in the list")
        shown = [one.get_attribute("aria-labelledby") for one in self.browser.all("#open-run > *") if one.is_displayed()]
        self.assertEqual(shown, ["run-title"])
        self.assertFalse(self.browser.all("#run-list .is-open"))
        self.browser.check_accessible()
        self.browser.check_clean(network_errors=True)
        self.browser.click(self.item("demo") + " .open")
        self.browser.wait_text("#run-title", "demo")
        self.browser.wait(lambda: self.chart()["rows"] > 0, "its points")
        self.browser.driver.back()
        self.browser.wait_text("#run-state", "not found")

    def test_a_link_to_a_run_that_comes_later_opens_it(self):
        cluster = self.fake().cluster
        self.browser.open("/runs#run=sweep-0001")
        self.browser.wait_text("#run-state", "not found")
        cluster.add_sweep(1)
        self.browser.wait_text("#run-state", "queued")

    def test_a_linked_run_is_opened_when_the_coordinator_is_back(self):
        cluster = self.fake().cluster
        cluster.add_sweep(240)
        find = cluster.run_with
        cluster.connected, cluster.run_with = False, lambda name: None
        self.browser.open("/runs#run=jargon-wide")
        self.browser.wait_text("#run-state", "not found")
        cluster.connected, cluster.run_with = True, find
        self.browser.wait_text("#run-state", "succeeded")

    # Case gateway-and-pages/17: Back left the page, and runs were not links.
    def test_back_and_forward_go_from_run_to_run(self):
        self.fake()
        self.open()
        names = ["demo", "jargon-small", "muon-test"]
        for name in names[1:]:
            self.browser.click(self.item(name) + " .open")
            self.browser.wait_text("#run-title", name)
        self.browser.click("#log-scale")
        for name in (names[1], names[0]):
            self.browser.driver.back()
            self.browser.wait_text("#run-title", name)
            self.assertIn(self.run_named(name).id, self.browser.driver.current_url)
            self.browser.wait(lambda: self.chart()["curves"][0].startswith(name), "its curve")
        self.browser.driver.forward()
        self.browser.wait_text("#run-title", "jargon-small")
        self.browser.check_clean()

    def test_settings_of_the_charts_make_no_entries_of_the_history(self):
        self.fake()
        self.open()
        before = self.browser.js("return history.length")
        self.browser.click("#log-scale")
        self.browser.click("#axis-time")
        self.browser.click(self.item("jargon-small") + " input")
        self.assertEqual(self.browser.js("return history.length"), before)

    def test_runs_of_the_list_are_links(self):
        self.fake()
        self.open()
        link = self.browser.one(self.item("jargon-small") + " a.open")
        self.assertTrue(link.get_attribute("href").endswith(f"/runs#run={self.run_named('jargon-small').id}"))
        windows = set(self.browser.driver.window_handles)
        ActionChains(self.browser.driver).key_down(Keys.CONTROL).click(link).key_up(Keys.CONTROL).perform()
        self.browser.wait(lambda: len(self.browser.driver.window_handles) > len(windows), "another tab")
        self.assertEqual(self.browser.text("#run-title"), "demo")
        self.go_to_tab((set(self.browser.driver.window_handles) - windows).pop())
        self.browser.wait_text("#run-title", "jargon-small")

    def test_a_slot_of_a_worker_opens_its_run(self):
        self.fake()
        self.open(f"#run={self.run_named('jargon-small').id}&log=1")
        self.browser.click("#worker-list a")
        self.browser.wait_text("#run-title", "demo")
        self.assertTrue(self.browser.one("#log-scale").is_selected(), "the settings stay")

    def test_link_to_the_content_leaves_the_run_open(self):
        self.fake()
        self.open(f"#run={self.run_named('jargon-small').id}&axis=time")
        self.browser.js("document.querySelector('.skip').click()")
        self.browser.wait(lambda: self.browser.driver.current_url.endswith("#main"), "the jump")
        self.assertEqual(self.browser.text("#run-title"), "jargon-small")
        self.assertEqual(self.browser.one("#axis-time").get_attribute("aria-pressed"), "true")

    # Tabs

    def go_to_tab(self, handle):
        """Shows another tab; all but the first are closed at the end."""
        if not hasattr(self, "first_tab"):
            self.first_tab = self.browser.driver.current_window_handle
            self.addCleanup(self.close_other_tabs)
        self.browser.driver.switch_to.window(handle)

    def open_tab(self, path):
        first = self.browser.driver.current_window_handle
        self.browser.driver.switch_to.new_window("tab")
        handle = self.browser.driver.current_window_handle
        self.browser.driver.switch_to.window(first)
        self.go_to_tab(handle)
        self.browser.driver.get(self.browser.url + path)
        return handle

    def close_other_tabs(self):
        for handle in self.browser.driver.window_handles:
            if handle != self.first_tab:
                self.browser.driver.switch_to.window(handle)
                self.browser.driver.close()
        self.browser.driver.switch_to.window(self.first_tab)

    # Case gateway-and-pages/11: the seventh tab never loaded.
    def test_the_ninth_tab_loads_as_the_first_one(self):
        gateway = self.fake()
        self.open()
        first = self.browser.driver.current_window_handle
        for _ in range(8):
            self.open_tab("/runs")
            self.browser.wait_text("#top-state", "Live")
            self.browser.wait(lambda: self.chart()["rows"] > 0, "points")
        self.browser.wait(lambda: len(gateway.streams) <= 3, "the other tabs to give their streams back")
        self.open_tab("/")
        self.browser.wait_shown("#generate")
        self.go_to_tab(first)
        self.browser.one("#charts-title").click()
        self.browser.wait_text("#top-state", "Live")
        before = self.chart()["last"]
        self.browser.wait(lambda: self.chart()["last"] > before, "live points")
        steps = self.browser.js("return store.shown(view.open).step")
        self.assertEqual(steps, sorted(set(steps)))

    def test_a_hidden_tab_gives_its_stream_back(self):
        gateway = self.fake()
        self.open()
        self.browser.js("""window.isHidden = true;
            Object.defineProperty(document, "hidden", {get: () => window.isHidden});
            document.dispatchEvent(new Event("visibilitychange"))""")
        self.browser.wait(lambda: not gateway.streams, "the stream to end")
        before = self.chart()["last"]
        self.browser.js("window.isHidden = false; document.dispatchEvent(new Event('visibilitychange'))")
        self.browser.wait(lambda: gateway.streams == [self.run_named("demo").id], "the stream again")
        self.browser.wait(lambda: self.chart()["last"] > before, "the points that came meanwhile")
        self.browser.check_clean()

    def test_a_run_names_the_model_that_it_began_with(self):
        for name, words in (("jargon-wide", "began with jargon-small@5000"), ("jargon-small", "20,000 of 20,000")):
            self.fake()
            self.open(f"#run={self.run_named(name).id}")
            self.browser.wait(lambda: words in self.browser.text("#run-progress-text"), words)
            self.assertEqual("began with" in self.browser.text("#run-progress-text"), name == "jargon-wide")
        self.browser.check_clean()

    def test_numbers_move_while_the_run_trains(self):
        self.open()
        if self.browser.text("#run-state") != "running":
            self.skipTest("no run trains at the gateway")
        before = self.chart()["last"]
        words = self.browser.text("#run-progress-text")
        self.browser.wait(lambda: self.chart()["last"] > before + 2, "live points")
        self.browser.wait(lambda: self.browser.text("#run-progress-text") != words, "the progress to move")
        self.assertEqual(self.browser.text("#top-state"), "Live")
        self.browser.check_clean()

    # Charts

    def test_every_chart_draws_its_curve(self):
        self.open()
        for number in range(5 if self.url is None else 1):
            self.browser.wait(lambda: self.browser.js(INKED, number) > 50, f"chart {number} to be drawn")
        self.assertIn(self.browser.text("#run-title"), self.browser.text("#legend"))
        if self.url is None:
            self.assertRegex(self.browser.text(".chart.mfu .readout"), r"^\d+(\.\d)?%$")
        self.browser.check_clean()

    def test_each_score_has_a_chart_and_a_tile(self):
        self.fake()
        self.open(f"#run={self.run_named('jargon-small').id}")
        for number in (5, 6):
            self.browser.wait(lambda: self.browser.js(INKED, number) > 50, f"chart {number} to be drawn")
        titles = self.browser.js("return group.charts.map((chart) => chart.description.title)")
        self.assertEqual(titles[5:], ["quiz/completion/acc_norm", "Bits per byte"])
        self.assertIn("Bits per byte", self.browser.text("#run-tiles"))
        self.browser.check_clean()

    def test_zoom_asks_for_the_window_and_goes_back(self):
        self.fake()
        self.open(f"#run={self.run_named('jargon-small').id}")
        whole = self.chart()
        asked = self.points_asked()[-1]
        self.assertNotIn("from", asked)
        self.assertLess(whole["rows"], 2 * int(asked["points"]))
        self.assertGreater(whole["last"], 19000)
        self.drag(".chart.loss .plot", 0.4, 0.6)
        self.browser.wait(lambda: "from" in self.points_asked()[-1], "a request for the window")
        asked = self.points_asked()[-1]
        begin, end = int(asked["from"]), int(asked["to"])
        self.assertTrue(6000 < begin < 9000 and 10500 < end < 13500, asked)
        self.browser.wait(lambda: self.chart()["first"] >= begin and self.chart()["rows"] > 500, "the finer points")
        for number in range(5):
            left = self.browser.js("return group.charts[arguments[0]].graph.xAxisRange()[0]", number)
            self.assertAlmostEqual(left, self.chart()["window"][0], delta=1)
        self.browser.click("#zoom-in")
        self.browser.wait(lambda: int(self.points_asked()[-1]["from"]) > begin, "a request for the smaller window")
        self.browser.click("#zoom-reset")
        self.browser.wait(lambda: self.chart()["window"][1] > 19000, "the whole run")
        self.browser.check_clean()

    def test_double_click_shows_the_whole_run(self):
        self.open("" if self.url else f"#run={self.run_named('jargon-small').id}")
        last = self.chart()["last"]
        self.drag(".chart.loss .plot", 0.3, 0.5)
        self.browser.wait(lambda: self.chart()["window"][1] < 0.7 * last, "the window")
        self.browser.wait(lambda: self.browser.js("return store.set(view.open).window !== null"), "the finer points")
        ActionChains(self.browser.driver).double_click(self.browser.one(".chart.loss .plot")).perform()
        self.browser.wait(lambda: self.chart()["window"][1] >= last, "the whole run")
        self.browser.check_clean()

    def test_labels_of_an_axis_are_all_different(self):
        self.open("" if self.url else f"#run={self.run_named('jargon-small').id}")
        last = self.chart()["last"]
        for zoomed in (False, True):
            if zoomed:
                self.drag(".chart.loss .plot", 0.06, 0.09)
                self.browser.wait(lambda: self.chart()["window"][1] < 0.2 * last, "the window")
                self.settle()
            for number in range(5):
                labels = self.browser.js(LABELS, number)
                self.assertGreater(len(labels), 1)
                self.assertEqual(len(labels), len(set(labels)), labels)

    def test_runs_are_laid_over_one_another(self):
        self.fake()
        self.open(f"#run={self.run_named('jargon-small').id}")
        self.browser.click(self.item("jargon-wide") + " input")
        both = {"jargon-small main", "jargon-wide main", "jargon-wide second"}
        self.browser.wait(lambda: both <= set(self.chart()["curves"]), "both curves")
        self.assertEqual([one.text for one in self.browser.all("#legend li")][:2], ["jargon-small", "jargon-wide"])
        colours = self.browser.js("return group.runs.map((run) => run.colour)")
        self.assertEqual(len(set(colours)), 2)
        self.assertIn("with=", self.browser.driver.current_url)
        self.browser.click(self.item("jargon-wide") + " input")
        self.browser.wait(lambda: "jargon-wide main" not in self.chart()["curves"], "the curve to go")
        self.browser.check_clean()

    def colours(self):
        return self.browser.js("return Object.fromEntries(group.runs.map((run) => [run.name, run.colour]))")

    def test_a_run_keeps_its_colour(self):
        self.fake()
        self.open()
        self.browser.wait(lambda: "demo" in self.colours(), "the first run")
        seen = self.colours()
        for name in ("jargon-small", "jargon-wide", "muon-test", "overfit"):
            self.browser.click(self.item(name) + " .open")
            self.browser.wait(lambda: list(self.colours()) == [name], "its curve")
            seen.update(self.colours())
        self.assertEqual(len(set(seen.values())), 5, seen)
        for name in ("jargon-wide", "demo", "jargon-small"):
            self.browser.click(self.item(name) + " input")
        self.browser.wait(lambda: len(self.colours()) == 4, "all curves")
        for _ in range(2):
            self.assertEqual(self.colours(), {name: seen[name] for name in self.colours()})
            self.browser.driver.refresh()
            self.browser.wait(lambda: len(self.colours()) == 4, "all curves")

    def test_more_runs_than_colours_are_told_apart_while_they_are_few(self):
        self.fake()
        self.open()
        numbers = self.browser.js("""
            for (let i = 0; i < 25; i += 1) colours.show([`run-${i}`]);
            colours.show(["run-3", "run-24", "run-20"]);
            return ["run-3", "run-24", "run-20"].map((id) => colours.of(id))""")
        self.assertEqual(len(set(numbers)), 3, numbers)

    def test_a_validation_curve_has_the_colour_of_its_run(self):
        self.fake()
        self.open(f"#run={self.run_named('jargon-small').id}&with={self.run_named('jargon-wide').id}")
        self.browser.wait(lambda: len(self.colours()) == 2, "both runs")
        drawn = self.browser.js("""return group.charts[0].curves.map((curve, i) =>
            [curve.run.colour, curve.kind, group.charts[0].graph.getColors()[i]])""")
        self.assertEqual(sum(kind == "second" for _, kind, _ in drawn), 2)
        for own, kind, colour in drawn:
            if kind != "raw":
                self.assertEqual(own, colour)
        dots = self.browser.js("return [...document.querySelectorAll('.chart.loss .readout .dot')].map((one) => one.style.color)")
        self.assertEqual(dots[0], dots[1])

    def test_charts_without_values_leave_their_place(self):
        cluster = self.fake().cluster
        cluster.run_with("jargon-small").unmeasured = ("mfu", "scores")
        self.open(f"#run={self.run_named('jargon-small').id}")
        self.browser.wait_text("#unmeasured", "Not measured: MFU.")
        self.assertFalse(self.browser.one(".chart.mfu").is_displayed())
        widths = self.browser.js("""return [...document.querySelectorAll(".chart:not([hidden])")].map((chart) =>
            [chart.getBoundingClientRect().right, chart.querySelector("canvas").getBoundingClientRect().width,
             chart.querySelector(".canvas").clientWidth])""")
        self.assertEqual(len(widths), 4)
        self.assertAlmostEqual(widths[3][0], widths[0][0], delta=1, msg="the last chart fills its row")
        for _, canvas, plot in widths:
            self.assertAlmostEqual(canvas, plot, delta=1)
        self.browser.click(self.item("demo") + " input")
        self.browser.wait_shown(".chart.mfu")
        self.browser.wait(lambda: not self.browser.one("#unmeasured").is_displayed(), "the words to go")
        self.browser.check_clean()

    def test_outliers_can_be_left_out(self):
        cluster = self.fake().cluster
        wild = cluster.run_with("jargon-small")
        usual = wild.loss
        wild.loss = lambda step: 900.0 if step % 4000 == 7 else usual(step)
        self.open(f"#run={wild.id}&smoothing=0")
        top = lambda: self.browser.js("return group.charts[0].graph.yAxisRange()[1]")
        self.assertGreater(top(), 500)
        self.browser.click("#ignore-outliers")
        self.browser.wait(lambda: top() < 15, "the usual range")
        self.browser.click("#log-scale")
        self.browser.wait(lambda: self.chart()["log"] and top() < 15, "the usual range on a log scale")
        link = self.browser.driver.current_url
        self.open(link[link.index("#"):])
        self.browser.wait(lambda: self.browser.one("#ignore-outliers").is_selected() and top() < 15, "the link's setting")
        self.browser.click("#ignore-outliers")
        self.browser.wait(lambda: top() > 500, "everything again")
        self.browser.check_clean()

    def test_log_scale_labels_every_decade(self):
        cluster = self.fake().cluster
        wild = cluster.run_with("jargon-small")
        wild.loss = lambda step: 10 ** (3 - 5 * step / wild.target)
        self.open(f"#run={wild.id}&smoothing=0&log=1")
        labels = self.browser.js(LABELS, 0)
        for decade in ("100", "10", "1", "0.1"):
            self.assertIn(decade, labels)
        ticks = lambda low, high, room: self.browser.js("return logTicks(...arguments)", low, high, room)
        self.assertEqual(ticks(0.02, 300, 12), [0.1, 1, 10, 100])
        self.assertEqual(ticks(0.5, 30, 12), [0.5, 1, 2, 5, 10, 20])
        self.assertEqual(ticks(2, 11, 12), [2, 3, 4, 5, 6, 7, 8, 9, 10])
        self.assertEqual(ticks(9.7, 10.4, 4), [9.8, 10, 10.2, 10.4])
        self.assertEqual(ticks(1e-9, 1e9, 6), [1e-9, 1e-5, 0.1, 1e3, 1e7])
        self.assertEqual(ticks(3, 3, 12), [3])

    def test_crosshair_is_shared(self):
        self.fake()
        self.open(f"#run={self.run_named('jargon-small').id}")
        newest = self.browser.text(".chart.learning_rate .readout")
        ActionChains(self.browser.driver).move_to_element(self.browser.one(".chart.mfu .plot")).perform()
        self.browser.wait(lambda: self.browser.text("#legend-at").startswith("step "), "the step under the crosshair")
        shown = [one for one in self.browser.all(".crosshair") if one.is_displayed()]
        self.assertEqual(len(shown), len(self.browser.all(".chart .plot")))
        self.assertNotEqual(self.browser.text(".chart.learning_rate .readout"), newest)
        plot = self.browser.one(".chart.loss .plot")
        self.browser.js("arguments[0].focus()", plot)
        plot.send_keys(Keys.END, Keys.ARROW_LEFT)
        self.browser.wait_text("#announcements", "jargon-small")

    def test_log_scale_smoothing_and_wall_time(self):
        self.fake()
        self.open(f"#run={self.run_named('jargon-small').id}")
        self.assertIn("jargon-small raw", self.chart()["curves"])
        self.browser.click("#log-scale")
        self.browser.wait(lambda: self.chart()["log"], "the log scale")
        self.browser.click("#axis-time")
        self.browser.wait(lambda: self.chart()["last"] < 1000, "minutes on the axis")
        self.assertIn(" min", self.browser.text(".chart.loss .dygraph-axis-label-x"))
        slider = self.browser.one("#smoothing")
        self.browser.js("arguments[0].focus()", slider)
        slider.send_keys(Keys.HOME)
        self.browser.wait(lambda: "jargon-small raw" not in self.chart()["curves"], "the curve as it is")
        self.drag(".chart.loss .plot", 0.4, 0.6)
        self.browser.wait(lambda: "from" in self.points_asked()[-1], "a request for the window")
        self.assertTrue(6000 < int(self.points_asked()[-1]["from"]) < 9000)
        link = self.browser.driver.current_url
        self.open(link[link.index("#"):])
        self.browser.wait(lambda: self.chart()["log"] and self.chart()["last"] < 1000, "the settings of the link")
        self.browser.check_clean()

    def test_thousands_of_points_stay_smooth(self):
        self.fake()
        self.open(f"#run={self.run_named('jargon-small').id}")
        self.browser.click(self.item("jargon-wide") + " input")
        self.browser.click(self.item("demo") + " input")
        self.browser.wait(lambda: len(self.browser.js("return group.runs")) == 3, "three runs")
        rows = self.chart()["rows"]
        self.assertGreater(rows, 1500)
        # Draws all five charts; the time must be far below what a person notices.
        spent = self.browser.js("""drawCharts(); const times = [];
            for (let i = 0; i < 5; i += 1) {
              const begin = performance.now();
              drawCharts();
              times.push(performance.now() - begin);
            }
            return times.sort((a, b) => a - b)[2];""")
        print(f"{rows} rows, 3 runs, 5 charts: {spent:.0f} ms", flush=True)
        self.assertLess(spent, 1000)

    # Several runs

    def open_family(self, more=""):
        """Opens `base` with the three other runs of its lineage, and returns all four."""
        family = self.fake().cluster.add_family()
        ids = [run.id for run in family]
        self.open(f"#run={ids[0]}&with={','.join(ids[1:])}{more}")
        self.browser.wait(lambda: len(self.colours()) == 4, "four curves")
        return family

    def compared(self):
        """The table of the compared runs: the texts of its rows."""
        return self.browser.js("""return [...document.querySelectorAll("#compared tr")].map((row) =>
            [...row.children].map((cell) => cell.textContent))""")

    def wait_compared(self, words):
        self.browser.wait_text("#compared-state", words)

    def test_all_runs_with_a_label_are_laid_over_the_open_one(self):
        family = self.fake().cluster.add_family()
        self.open(f"#run={family[0].id}")
        self.assertFalse(self.browser.one("#overlay-listed").is_displayed())
        self.browser.click("#run-labels .chip")
        self.browser.wait_text("#overlay-listed", "Overlay all 4 listed runs")
        self.browser.click("#overlay-listed")
        self.browser.wait(lambda: set(self.colours()) == {run.name for run in family}, "four curves")
        self.assertFalse(self.browser.one("#overlay-listed").is_displayed(), "nothing is left to overlay")
        self.browser.click("[aria-label='Remove warm from the charts']")
        self.browser.wait(lambda: set(self.colours()) == {"base", "hot", "hot-again"}, "three curves")
        self.browser.js("[...document.querySelectorAll('#legend button')].at(-1).click()")
        self.browser.wait(lambda: set(self.colours()) == {"base"}, "the open run alone")
        self.browser.check_clean()

    def open_sweep(self, **more):
        sweep = self.fake().cluster.add_trials(**more)
        self.open(f"#run={sweep['trials'][0]['run']}")
        self.browser.wait_shown("#sweep")
        return sweep

    def rank_rows(self):
        return self.browser.js("""return [...document.querySelectorAll("#sweep-ranking tbody tr")].map((row) =>
            [...row.children].map((cell) => cell.textContent))""")

    def test_a_trial_shows_the_ranking_of_its_sweep(self):
        sweep = self.open_sweep()
        self.assertEqual(self.browser.text("#sweep-title"), "Sweep rates")
        self.assertEqual(self.browser.text("#sweep-state"), "running: 10 of 12 trials have ended")
        rows = self.rank_rows()
        self.assertEqual(rows[0], ["1", "1e-3", "cosine", "2.6300", "–", "", "1,000", "5 6", "1 done, 1 failed"])
        self.assertEqual(rows[1], ["2", "1e-3", "linear", "2.6650", "0.0212", "+0.0350", "1,000", "7 8", "done"])
        self.assertEqual(rows[5][5:], ["fewer steps", "400", "11 12", "1 running, 1 waiting"])
        self.assertEqual(self.browser.one("#sweep-ranking .is-open").text.split()[0], "4", "the open run's row")
        self.browser.click(f"#sweep-ranking a[href='#run={sweep['trials'][6]['run']}']")
        self.browser.wait_text("#run-title", "rates-7")
        self.browser.wait(lambda: self.browser.one("#sweep-ranking .is-open").text.split()[0] == "2", "the row of trial 7")
        self.browser.check_clean()

    def test_a_dot_of_a_sweeps_chart_opens_its_trial(self):
        sweep = self.open_sweep()
        dots = self.browser.js("""return [...document.querySelectorAll(".sweep-chart")].map((chart) =>
            [chart.querySelector("code").textContent, chart.querySelectorAll("svg a").length])""")
        self.assertEqual(dots, [["optimizer.lr", 10], ["schedule.kind", 10]], "a dot for each trial with a loss")
        places = self.browser.js("""return [...document.querySelectorAll(".sweep-chart:first-child svg a circle:last-child")]
            .map((dot) => [Number(dot.getAttribute("cx")), Number(dot.getAttribute("cy"))])""")
        lows, middles = places[:4], places[4:7]
        self.assertLess(lows[0][0], middles[0][0])
        self.assertGreater(middles[0][1], lows[0][1], "a lower loss is further down")
        ticks = self.browser.js("""return [...document.querySelectorAll(".sweep-chart:first-child svg text[text-anchor=middle]")]
            .map((one) => one.textContent)""")
        self.assertEqual(ticks, ["1e-4", "1e-3", "1e-2"])
        left, right = places[0][0], places[-1][0]
        self.assertAlmostEqual(middles[0][0], (left + right) / 2, delta=1, msg="the axis of the rates is logarithmic")
        self.browser.js("document.querySelector(arguments[0]).dispatchEvent(new MouseEvent('click', {bubbles: true}))",
                        f".sweep-chart:first-child a[href='#run={sweep['trials'][8]['run']}']")
        self.browser.wait_text("#run-title", "rates-9")
        self.browser.check_clean()

    def test_a_sweep_of_the_list_opens_its_best_trial_and_lists_its_trials(self):
        sweep = self.fake().cluster.add_trials(ended=True)
        self.open()
        self.browser.wait_shown("#sweep-list .sweep")
        self.assertIn("12 of 12 trials have ended", self.browser.text("#sweep-list"))
        self.assertFalse(self.browser.one("#sweep").is_displayed(), "the open run is no trial")
        self.browser.click("#sweep-list .sweep")
        self.browser.wait_text("#run-title", f"rates-{sweep['best']}")
        self.browser.wait(lambda: set(self.names()) == {f"rates-{number}" for number in range(1, 13)}, "its trials alone")
        self.browser.wait_text("#sweep-state", "succeeded: 11 of 12 trials have a validation loss, 1 failed")
        self.browser.check_clean()

    def test_a_label_that_is_no_sweep_shows_none(self):
        cluster = self.fake().cluster
        cluster.live.labels = {"sweep": "of mine", "trial": "1"}
        self.open()
        self.browser.wait(lambda: self.asked("/api/v1/sweeps/of%20mine"), "the request for the sweep")
        self.assertFalse(self.browser.one("#sweep").is_displayed())
        self.assertFalse(self.browser.one("#sweeps").is_displayed())
        self.browser.check_clean(network_errors=True)

    def test_look_of_a_sweep(self):
        self.open_sweep()
        self.look("sweep")

    def test_a_lineage_is_laid_over_the_open_run(self):
        cluster = self.fake().cluster
        family = cluster.add_family()
        cluster.add_sweep(150)  # so that the family is not in the list
        self.open(f"#run={family[3].id}")
        self.browser.wait_shown("#overlay-lineage")
        self.browser.click("#overlay-lineage")
        self.browser.wait(lambda: self.browser.js("return group.runs.map((run) => run.name)")
                          == ["hot-again", "base", "hot", "warm"], "the lineage")
        self.browser.click(self.item("demo") + " .open")
        self.browser.wait_text("#run-title", "demo")
        self.assertFalse(self.browser.one("#overlay-lineage").is_displayed(), "it was not forked")
        self.browser.check_clean()

    def test_init_from_is_a_lineage_too(self):
        self.fake()
        self.open(f"#run={self.run_named('jargon-wide').id}")
        self.browser.click("#overlay-lineage")
        self.browser.wait(lambda: set(self.colours()) == {"jargon-wide", "jargon-small"}, "both runs")
        lineage = self.browser.js("""const run = (id, more) => ({id, name: id, submitted_at: 1, ...more});
            const circle = [run("a", {parent: {run_id: "b"}}), run("b", {parent: {run_id: "a"}}), run("c"),
                            run("d", {parent: {run_id: "gone"}})];
            return circle.map((one) => lineageOf(one, circle).map(({id}) => id).join(""))""")
        self.assertEqual([lineage[2], lineage[3]], ["c", "d"], "a run without relatives")
        self.assertIn("a", lineage[0], "a circle ends")

    def test_a_link_reopens_the_same_picture(self):
        family = self.open_family("&axis=tokens&log=1&smoothing=0.9&window=4000000,9000000&colours=5,3,12,0")
        wanted = 8192
        self.browser.wait(lambda: any("from" in one for one in self.points_asked()), "finer points")
        state = """return [group.axis, group.log, group.smoothing, group.window, group.charts[0].graph.xAxisRange(),
                   group.runs.map((run) => [run.name, run.colour, run.dotted])]"""
        self.browser.wait(lambda: abs(self.browser.js(state)[4][0] - 4e6) < 1, "the window")
        before = self.browser.js(state)
        self.assertEqual(before[:4], ["tokens", True, 0.9, [4000000, 9000000]])
        self.assertEqual([dotted for _, _, dotted in before[5]], [False, False, True, False])
        asked = [one for one in self.points_asked() if "from" in one][-1]
        self.assertTrue(4e6 / wanted - 40 < int(asked["from"]) <= 4e6 / wanted, asked)
        link = self.browser.driver.current_url
        self.browser.js("localStorage.clear()")
        self.browser.open(link[len(self.browser.url):])
        self.browser.wait(lambda: len(self.colours()) == 4 and self.browser.js(state) == before, "the same picture")
        self.assertEqual([run.name for run in family], [name for name, _, _ in before[5]])
        self.browser.check_clean()

    def test_a_link_with_nonsense_opens_what_it_can(self):
        family = self.fake().cluster.add_family()
        self.open(f"#run={family[0].id}&with=nothing,{family[1].id},{family[1].id}&axis=__proto__&window=9,x&colours=99,-1,x")
        self.browser.wait(lambda: set(self.colours()) == {"base", "hot"}, "the run that exists")
        self.assertIn("Not found, so not shown: nothing", self.browser.text("#toast"))
        self.assertEqual(len(set(self.colours().values())), 2)
        self.assertEqual(self.browser.js("return [group.axis, group.window]"), ["step", None])
        self.browser.check_clean(network_errors=True)

    def test_only_keys_that_differ_are_compared(self):
        self.open_family()
        self.wait_compared("3 keys of the run files differ.")
        rows = {row[0]: row[1:] for row in self.compared()}
        self.assertEqual(rows[""], ["base", "hot", "warm", "hot-again"])
        self.assertEqual(rows["optimizer.lr"], ["6e-4", "9e-4", "7e-4", "9e-4"])
        self.assertEqual(rows["optimizer.warmup"], ["–", "–", "200", "–"])
        self.assertEqual(rows["Labels"], ["study=rates"] * 4)
        self.assertEqual(rows["Note"], ["the baseline of the paper", "–", "–", "seed 2, to see the noise"])
        self.assertNotIn("name", rows)
        self.assertNotIn("budget.steps", rows)
        self.browser.click("[aria-label='Remove warm from the charts']")
        self.wait_compared("2 keys of the run files differ.")
        self.assertNotIn("optimizer.warmup", {row[0] for row in self.compared()})
        self.browser.click("#compared thead a[title='hot']")
        self.browser.wait_text("#run-title", "hot")
        self.browser.check_clean()

    def test_a_run_file_that_cannot_be_compared_says_why(self):
        cluster = self.fake().cluster
        family = cluster.add_family()
        cluster.differences_body = lambda runs: {"runs": [], "keys": []}
        self.open(f"#run={family[0].id}&with={family[1].id}")
        self.wait_compared("The run files have the same values.")
        self.gateway.differences_refusal = (503, "the coordinator cannot be reached")
        self.browser.click(self.item("demo") + " input")
        self.wait_compared("The run files cannot be compared: the coordinator cannot be reached")
        self.gateway.differences_refusal = None
        cluster.connected = False
        self.browser.wait_text("#banner", "does not answer")
        cluster.connected = True
        self.wait_compared("The run files have the same values.")

    def test_a_note_is_text(self):
        family = self.fake().cluster.add_family()
        family[0].note = "<b>bold</b> & more"
        self.open(f"#run={family[0].id}&with={family[1].id}")
        self.browser.wait_text("#run-note", "<b>bold</b> & more")
        self.assertFalse(self.browser.all("main b"))
        self.assertEqual(self.browser.text(self.item("hot-again") + " .note"), "seed 2, to see the noise")

    def test_names_stand_at_the_ends_of_the_curves(self):
        self.open_family("&smoothing=0")
        names = lambda number: self.browser.js(
            "return [...document.querySelectorAll('.chart .layer')][arguments[0]].textContent", number)
        for number in range(3):
            for name in ("base", "hot", "warm", "hot-again"):
                self.assertIn(name, names(number))
        places = self.browser.js("""return [...document.querySelectorAll(".chart.loss .layer text")].map((text) => {
            const box = text.getBoundingClientRect();
            return [box.top, box.bottom, box.right];
        })""")
        edge = self.browser.js("return document.querySelector('.chart.loss').getBoundingClientRect().right")
        places.sort()
        for (_, bottom, right), (top, _, _) in zip(places, places[1:]):
            self.assertLessEqual(bottom, top + 2, "names do not overlap")
            self.assertLess(right, edge)
        self.assertEqual(self.browser.js("return spreadEnds([5, 5, 5], 0, 100)"), [7.5, 22.5, 37.5])
        self.assertEqual(self.browser.js("return spreadEnds([95, 96, 97], 0, 100)"), [62.5, 77.5, 92.5])
        self.assertIsNone(self.browser.js("return spreadEnds([1, 2, 3], 0, 40)"))

    def test_another_width_leaves_nothing_of_the_old_curves(self):
        family = self.fake().cluster.add_family()
        family[1].name = "a-long-name-which-has-less-room-on-a-phone"
        self.open(f"#run={family[0].id}&with={family[1].id}")
        self.browser.wait(lambda: len(self.colours()) == 2, "both curves")
        for size in ("phone", "desktop", "phone"):
            self.browser.resize(size)
            self.settle()
            inked = self.browser.js("""return group.charts.map((chart) => {
                const canvas = chart.canvas.querySelector("canvas");
                const area = chart.graph.getArea();
                const right = area.x + area.w + 3;
                const ratio = canvas.width / canvas.clientWidth;
                const data = canvas.getContext("2d").getImageData(right * ratio, 0, canvas.width - right * ratio, canvas.height).data;
                return data.filter((value, i) => i % 4 === 3 && value > 0).length;
            })""")
            self.assertEqual(inked, [0] * len(inked), size)

    def test_a_long_name_is_cut_in_its_middle(self):
        self.fake()
        self.open()
        fitted = lambda text, width: self.browser.js("return fittedText(...arguments, END_FONT)", text, width)
        self.assertEqual(fitted("short", 200), "short")
        cut = fitted("sweep-of-the-learning-rate-with-seed-13", 100)
        self.assertRegex(cut, r"^sweep.*….*13$")
        self.assertEqual(fitted("🦊🦊🦊🦊🦊🦊", 1), "🦊…🦊", "no half characters")

    def test_more_runs_than_lines_are_refused(self):
        cluster = self.fake().cluster
        cluster.add_sweep(40)
        self.open()
        self.browser.one("#run-search").send_keys("sweep")
        self.browser.wait_text("#overlay-listed", "Overlay all 40 listed runs")
        self.browser.click("#overlay-listed")
        self.browser.wait_text("#toast", "16 runs can be shown together")
        lines = self.browser.js("return shownIds().map((id) => [colours.of(id), colours.isDotted(id)].join())")
        self.assertEqual((len(lines), len(set(lines))), (16, 16))
        self.browser.check_clean()

    def test_colours_differ_for_every_kind_of_sight_in_both_themes(self):
        self.fake()
        self.open()
        for dark in (False, True):
            self.browser.theme(dark)
            distance, contrast = self.browser.js(PALETTE)
            self.assertGreater(distance, 0.1, f"dark: {dark}")
            self.assertGreater(contrast, 3, f"dark: {dark}")

    def wild(self):
        """Opens a run whose loss is NaN from step 9000 to 9999, ∞ at step 12000 and −∞ at step 15000."""
        run = self.fake().cluster.run_with("jargon-small")
        usual = run.loss
        special = {12000: math.inf, 15000: -math.inf}
        run.loss = lambda step: math.nan if 9000 <= step < 10000 else special.get(step, usual(step))
        self.open(f"#run={run.id}")
        return run

    def test_values_that_are_not_finite_are_gaps_with_a_mark(self):
        self.wild()
        self.browser.wait_shown("#gap-help")
        gaps = self.browser.js("""const curve = group.charts[0].curves.find(({kind}) => kind === "main");
            return [...curve.gaps].map(([row, value]) => [group.shared[row], String(value)])""")
        steps = [step for step, value in gaps if value == "NaN"]
        self.assertEqual((steps[0], steps[-1]), (9000, 9999))
        self.assertEqual([gap for gap in gaps if gap[1] != "NaN"], [[12000, "Infinity"], [15000, "-Infinity"]])
        parts = self.browser.js("return new ChartPicture(group.charts[0]).path(1).split('M').length - 1")
        self.assertEqual(parts, 4, "the curve is interrupted three times")
        top = self.browser.js("return group.charts[0].graph.yAxisRange()[1]")
        self.assertLess(top, 15, "an infinity does not stretch the axis")
        marks = [one.get_attribute("aria-label") for one in self.browser.all(".mark")]
        for words in ("The loss is NaN from step 9,000 to step 9,999", "The loss is ∞ at step 12,000",
                      "The loss is −∞ at step 15,000"):
            self.assertTrue(any(words in mark for mark in marks), marks)
        crosses = self.browser.js("return document.querySelectorAll('.chart.loss .layer path').length")
        self.assertGreater(crosses, 4)
        self.browser.js("group.pointAt(group.shared.indexOf(12000))")
        self.assertTrue(self.browser.text(".chart.loss .readout").startswith("∞"))
        self.browser.check_accessible()
        self.browser.check_clean()

    def test_a_run_whose_loss_was_never_finite_is_shown(self):
        run = self.fake().cluster.run_with("overfit")
        run.loss = lambda step: math.nan
        run.evaluate_every = 1000
        self.open(f"#run={run.id}")
        self.browser.wait_shown("#gap-help")
        self.assertIn("NaN", self.browser.text(".chart.loss .readout"))
        self.assertNotIn("NaN", self.browser.js(PICTURE_TEXT, 0).replace("NaN</text>", ""))
        self.browser.check_clean()

    def test_a_run_of_one_point_has_a_picture(self):
        run = self.fake().cluster.run_with("overfit")
        run.step = 1
        self.open(f"#run={run.id}")
        self.assertNotIn("NaN", self.browser.js(PICTURE_TEXT, 0))

    # Pictures

    def test_a_picture_has_title_legend_and_units(self):
        family = self.open_family("&axis=tokens&log=1")
        text = self.browser.js(PICTURE_TEXT, 0)
        for words in ("Loss of 4 runs", "smoothing 0.60 · logarithmic scale", "nats per token", ">Tokens<", ">validation<", ">20M<",
                      *(f">{run.name}<" for run in family)):
            self.assertIn(words, text)
        self.assertNotIn("NaN", text)
        self.browser.click("#axis-time")
        self.browser.wait(lambda: ">Wall time (min)<" in self.browser.js(PICTURE_TEXT, 0), "the other axis")

    def test_words_of_a_run_are_text_in_a_picture(self):
        cluster = self.fake().cluster
        cluster.live.name = "<script>&amp;"
        self.open(f"#run={cluster.live.id}")
        self.assertIn("&lt;script&gt;&amp;amp;", self.browser.js(PICTURE_TEXT, 0))
        self.assertEqual(self.browser.js("return new ChartPicture(group.charts[0]).fileName"), "loss-script-amp-")

    def test_pictures_are_downloaded(self):
        self.open_family()
        with tempfile.TemporaryDirectory() as folder:
            self.browser.driver.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": folder})
            beginnings = {"svg": b"<svg xmlns=", "png": b"\x89PNG\r\n"}
            for kind, beginning in beginnings.items():
                self.browser.click(f"[aria-label='Download the chart Loss as {kind.upper()}']")
                file = pathlib.Path(folder, f"loss-4-runs.{kind}")
                self.browser.wait(file.exists, f"the {kind} file")
                self.assertTrue(file.read_bytes().startswith(beginning))
        self.browser.check_clean()

    def test_looks_of_a_picture(self):
        self.open_family()
        script = """const [done] = arguments;
            new ChartPicture(group.charts[0]).png().then((blob) => {
              const reader = new FileReader();
              reader.onload = () => done(reader.result.split(",")[1]);
              reader.readAsDataURL(blob);
            })"""
        folder = self.browser.screenshot_folder()
        for dark in (False, True):
            self.browser.theme(dark)
            self.settle()
            picture = base64.b64decode(self.browser.driver.execute_async_script(script))
            (folder / f"runs-picture-{'dark' if dark else 'light'}.png").write_bytes(picture)
            self.assertGreater(len(picture), 20000)

    # Many points

    def test_a_million_steps_stay_fluid(self):
        cluster = self.fake().cluster
        family = cluster.add_family()
        spikes = {}
        for number, run in enumerate(family):
            run.target = run.step = 1_000_000
            run.evaluate_every = run.checkpoint_every = 100_000
            spikes[run.id] = 123_457 + 1000 * number
            run.loss = lambda step, run=run: (50.0 if step == spikes[run.id]
                                              else 2 + 8 / (1 + step / 20000) + (step * 7919 % 101) / 1000)
            whole = run.points(1000, 0, 10**9)
            whole["scores"] = [None] * len(whole["step"])
            run.points = lambda limit, first, last, whole=whole: whole
        ids = [run.id for run in family]
        self.open(f"#run={ids[0]}&with={','.join(ids[1:])}&smoothing=0")
        self.browser.wait(lambda: len(self.colours()) == 4, "four runs")
        self.assertEqual(self.chart()["last"], 1_000_000)
        self.assertGreater(self.browser.js("return group.charts[0].graph.yAxisRange()[1]"), 50, "the spike is kept")
        spent = self.browser.js("""const begin = performance.now(); drawCharts(); return performance.now() - begin;""")
        print(f"4 runs of 1,000,000 steps: {self.chart()['rows']} rows, drawn in {spent:.0f} ms", flush=True)
        self.assertLess(spent, 1500)

    # Events

    def test_failures_and_checkpoints_are_marks_on_the_axis(self):
        self.fake()
        self.open(f"#run={self.run_named('muon-test').id}")
        self.browser.wait(lambda: self.browser.all(".mark.failure") and self.browser.all(".mark.checkpoint"), "marks")
        ActionChains(self.browser.driver).move_to_element(self.browser.one(".mark.failure")).perform()
        self.browser.wait_text("#mark-tip", "rank 1 was killed by signal 9")
        self.assertRegex(self.browser.text("#mark-tip"), r"Failure at step 9\d\d|Failure at step 8\d\d")
        mark = self.browser.one(".mark")
        self.browser.js("arguments[0].focus()", mark)
        self.browser.wait_text("#mark-tip", "Checkpoint at step 250, validation loss")
        self.browser.wait_text("#events", "rank failed")
        self.assertNotIn("checkpoint sealed", self.browser.text("#events"))
        self.browser.click("#all-events")
        self.assertIn("checkpoint sealed", self.browser.text("#events"))
        self.browser.check_clean()

    def test_checkpoint_opens_the_playground(self):
        self.open()
        link = self.browser.wait(lambda: (self.browser.all("#checkpoints a") or [None])[-1], "checkpoints")
        self.assertIn("latest", self.browser.text("#checkpoints"))
        label = link.get_attribute("aria-label")
        step = int(label.split("@")[1].split()[0])
        self.browser.click(f"[aria-label='{label}']")
        self.browser.wait_text("#step-text", f"step {step:,}")

    def test_the_playground_opens_with_the_model_of_this_run_though_a_newer_one_has_its_name(self):
        twin = self.fake().cluster.add_older_twin()
        self.open(f"#run={twin.id}")
        self.browser.wait_shown("#run-playground")
        self.assertTrue(self.browser.one("#run-playground").get_attribute("href").endswith(f"#model={twin.id}"))
        self.assertTrue(self.browser.all(f"#checkpoints [aria-label='Open {twin.id}@1000 in the playground']"))
        self.browser.click("#run-playground")
        self.browser.wait_text("#step-text", "step 1,000")

    def test_a_run_that_is_not_served_has_no_button(self):
        self.fake().cluster.run_with("jargon-small").model = None
        self.open(f"#run={self.run_named('jargon-small').id}")
        self.browser.wait_text("#checkpoints", "not served")
        self.assertFalse(self.browser.one("#run-playground").is_displayed())
        self.assertFalse(self.browser.all("#checkpoints a"))
        self.browser.check_accessible()

    def test_button_of_a_checkpoint_is_whole_at_every_width(self):
        cluster = self.fake().cluster
        cluster.run_with("jargon-small").checkpoint_every = 10000
        self.open(f"#run={self.run_named('jargon-small').id}")
        for width in (1440, 1280, 1100, 1001, 1000, 760, 390, 340):
            self.browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
                "width": width, "height": 800, "deviceScaleFactor": 1, "mobile": False})
            self.settle()
            edges = self.browser.js("""const table = document.querySelector("#checkpoints");
                return [...table.querySelectorAll("a.button")].map((button) =>
                  table.getBoundingClientRect().right - button.getBoundingClientRect().right)""")
            self.assertEqual(len(edges), 2)
            self.assertGreaterEqual(min(edges), 8, f"at {width} px")

    def test_tiles_fill_their_rows(self):
        self.fake()
        self.open(f"#run={self.run_named('jargon-small').id}")
        for size in self.browser.sizes:
            self.browser.resize(size)
            self.settle()
            rows = self.browser.js("""const list = document.querySelector("#run-tiles");
                const boxes = [...list.children].map((tile) => tile.getBoundingClientRect());
                const tops = [...new Set(boxes.map((box) => box.top))];
                return tops.map((top) => list.getBoundingClientRect().right -
                  Math.max(...boxes.filter((box) => box.top === top).map((box) => box.right)))""")
            self.assertLess(max(rows), 2, f"{size}: {rows}")

    def test_the_legend_has_the_name_of_a_run_that_is_in_no_list(self):
        self.fake().cluster.add_sweep(240)
        self.open(f"#run={self.run_named('jargon-wide').id}&with={self.run_named('overfit').id}")
        self.browser.wait(lambda: self.browser.js(
            "return [...document.querySelectorAll('#legend li')].slice(0, 2).map((one) => one.textContent)")
            == ["jargon-wide", "overfit"], "both names")
        self.browser.wait(lambda: len(self.colours()) == 2, "both curves")

    def test_runs_of_one_name_are_told_apart_by_their_ids(self):
        cluster = self.fake().cluster
        twin, live = cluster.add_older_twin(), cluster.live
        self.open(f"#run={live.id}&with={twin.id},{self.run_named('jargon-small').id}")
        legend = lambda: self.browser.js(
            "return [...document.querySelectorAll('#legend li')].slice(0, 3).map((one) => one.textContent)")
        expected = [f"demo ({live.id})", f"demo ({twin.id})", "jargon-small"]
        self.browser.wait(lambda: legend() == expected, "all names")
        for run, words in ((live, live.id), (twin, twin.id), (self.run_named("jargon-small"), "")):
            self.assertEqual(self.browser.text(f'[data-run="{run.id}"] .id'), words)
        for size in self.browser.sizes:
            self.browser.resize(size)
            self.settle()
            self.browser.check_accessible()
        self.browser.check_clean()

    def test_damaged_checkpoint_has_no_button(self):
        self.fake()
        self.open(f"#run={self.run_named('muon-test').id}")
        self.browser.wait_text("#checkpoints", "digest of shard 1 differs")
        self.assertFalse(self.browser.all("[aria-label='Open muon-test@500 in the playground']"))

    def test_samples_by_step_are_text(self):
        self.fake()
        self.open()
        self.browser.wait_text("#sample-text", "<b>“but nobody knows why.”</b>")
        self.assertFalse(self.browser.all("#sample-text b"))
        self.browser.js("document.querySelector('#sample-slider').focus()")
        self.browser.one("#sample-slider").send_keys(Keys.HOME)
        self.browser.wait_text("#sample-step", "step 250")
        self.assertIn("eeh te nath", self.browser.text("#sample-text"))
        self.browser.click("#sample-after")
        self.browser.wait_text("#sample-step", "step 500")

    def test_words_of_a_run_are_never_markup(self):
        gateway = self.fake()
        gateway.cluster.live.reason = "<img src=x onerror='window.violations.push(1)'><b>bold</b>"
        self.open()
        self.browser.wait_text(self.item("demo"), "<b>bold</b>")
        self.browser.wait_text("#run-reason", "<img src=x")
        self.assertFalse(self.browser.all("main img, main b"))
        self.browser.check_clean()

    def test_workers_and_slots(self):
        self.fake()
        self.open()
        self.browser.wait_text("#worker-list", "gamma")
        words = self.browser.text("#worker-list")
        for expected in ("NVIDIA H100 80GB HBM3", "free", "demo", "ECC errors", "not heard from since 1 h", "driver 570.86"):
            self.assertIn(expected, words)
        self.assertEqual(self.browser.text("#workers-count"), "2 of 4 slots busy")
        self.assertIn("3.8 of 4 cores busy · 8 GiB of 16 GiB used · 120 GiB of disk free", words)
        self.assertIn("1.9 cores busy, 1.25 GiB", words)
        self.assertNotIn("undefined", words)

    def test_opening_another_run_shows_its_reason(self):
        self.fake()
        self.open()
        self.browser.click(self.item("gpt2-124m") + " .open")
        self.browser.wait_text("#run-title", "gpt2-124m")
        self.browser.wait_text("#run-reason", "1st in the queue: waits for 8 free slots")
        self.browser.wait_text(".chart.loss", "No points yet.")
        self.browser.wait_text("#checkpoints", "checkpoint.every")
        self.browser.check_accessible()
        self.browser.check_clean()

    # Trouble

    def test_reconnects(self):
        gateway = self.fake()
        self.open()
        self.browser.wait_text("#top-state", "Live")
        gateway.streams_allowed.clear()
        self.browser.wait_text("#top-state", "Reconnecting")
        gateway.streams_allowed.set()
        self.browser.wait_text("#top-state", "Live")
        before = self.chart()["last"]
        self.browser.wait(lambda: self.chart()["last"] > before, "points after the reconnect")
        steps = self.browser.js("return store.shown(view.open).step")
        self.assertEqual(steps, sorted(set(steps)))
        self.browser.check_clean(network_errors=True)

    def test_says_why_the_gateway_refuses_its_events(self):
        gateway = self.fake()
        gateway.stream_refusal = (429, "this client already has 500 open streams")
        gateway.streams_allowed.clear()
        self.browser.open("/runs")
        self.browser.wait_text("#unreachable-title", "The gateway refuses this page (429)")
        self.assertEqual(self.browser.text("#unreachable-text"), gateway.stream_refusal[1])
        self.assertEqual(self.browser.text("#unreachable-retry"), "Try again")
        self.browser.check_accessible()
        gateway.streams_allowed.set()
        self.browser.wait_text("#top-state", "Live")
        gateway.streams_allowed.clear()
        self.browser.wait_text("#banner", "refuses to update this page: " + gateway.stream_refusal[1])
        self.browser.check_accessible()
        gateway.streams_allowed.set()
        self.browser.wait(lambda: not self.browser.one("#banner").is_displayed(), "the banner to go")

    def test_steps_that_a_restart_takes_again_replace_the_lost_ones(self):
        self.fake()
        self.open(f"#run={self.run_named('jargon-small').id}")
        steps = self.browser.js("""
            const set = {run: "a", total: 4, step: [1, 2, 3, 4], at: [10, 11, 12, 13], loss: [9, 9, 9, 9]};
            appendColumns(set, {step: [4, 5], at: [13, 14], loss: [7, 7]}, -Infinity, Infinity);
            appendColumns(set, {step: [3, 4], at: [30, 31], loss: [5, 5]}, -Infinity, Infinity);
            return [set.step, set.loss]""")
        self.assertEqual(steps, [[1, 2, 3, 4], [9, 9, 5, 5]])

    def test_says_when_the_coordinator_is_gone(self):
        gateway = self.fake()
        self.open()
        gateway.cluster.connected, gateway.cluster.message = False, "connection refused"
        self.browser.wait_text("#banner", "The coordinator at 127.0.0.1:50051 does not answer (connection refused)")
        self.browser.check_accessible()
        gateway.cluster.connected = True
        self.browser.wait(lambda: not self.browser.one("#banner").is_displayed(), "the banner to go")

    def test_asks_for_the_key(self):
        self.fake(key="secret")
        self.browser.open("/runs")
        self.browser.wait_shown("#key-field").send_keys("secret", Keys.ENTER)
        self.browser.wait(lambda: self.chart()["rows"] > 0, "points")
        self.browser.wait_text("#top-state", "Live")
        self.browser.js("sessionStorage.clear()")

    def test_says_when_the_key_is_refused(self):
        self.fake(key="secret")
        self.browser.open("/runs")
        self.browser.wait_shown("#key-field").send_keys("wrong", Keys.ENTER)
        self.browser.wait_text("#key-title", "Key refused")
        self.browser.check_accessible()
        self.browser.click("#key-cancel")
        self.browser.wait_text("#top-state", "Key refused")
        self.assertEqual(self.browser.one("#top-state").get_attribute("class"), "badge bad")
        self.assertEqual(self.browser.text("#unreachable-title"), "Key refused")
        self.assertIn("does not accept the API key", self.browser.text("#unreachable-text"))
        self.browser.check_accessible()
        self.browser.click("#unreachable-retry")
        self.browser.wait_shown("#key-field").send_keys("secret", Keys.ENTER)
        self.browser.wait_text("#top-state", "Live")
        self.browser.js("sessionStorage.clear()")

    def test_without_runs_it_says_what_to_type(self):
        self.fake(empty=True)
        self.browser.open("/runs")
        self.browser.wait_shown("#no-runs")
        self.assertIn("make demo", self.browser.text("#no-runs"))
        self.browser.wait_text("#worker-list", "gpctl up --detach")
        self.browser.check_clean()
        self.look("runs-empty")

    def test_without_a_gateway_it_says_so(self):
        gateway = self.fake()
        self.open()
        gateway.stop()
        self.browser.wait_text("#top-state", "Reconnecting")
        self.assertGreater(self.chart()["rows"], 100)

    # Looks

    def test_looks(self):
        self.open()
        self.browser.wait(lambda: self.browser.all("#worker-list .worker") or self.url, "workers")
        self.look("runs")
        self.browser.check_clean()

    def test_looks_with_many_runs(self):
        cluster = self.fake().cluster
        cluster.add_sweep(1194)
        for run in cluster.runs:
            if run.name.startswith("sweep"):
                run.reason = "queue: behind run r-0002gp (gpt2-124m), which needs 8 GPU slots"
        cluster.run_with("jargon-small").warning = \
            "diverged: the training loss 9.8 at step 19000 is far above ln(256) = 5.5; lower optimizer.lr"
        ids = [self.run_named(name).id for name in ("jargon-small", "demo")]
        self.open(f"#run={ids[0]}&with={ids[1]}")
        self.browser.wait(lambda: len(self.browser.js("return group.runs")) == 2, "both runs")
        self.look("runs-many")
        self.browser.check_clean()

    def test_looks_of_a_comparison(self):
        family = self.fake().cluster.add_family()
        usual = family[1].loss
        family[1].loss = lambda step: math.nan if 1200 <= step <= 1500 else usual(step)
        ids = [run.id for run in family]
        self.open(f"#run={ids[0]}&with={','.join(ids[1:])}&axis=tokens")
        self.browser.wait(lambda: len(self.colours()) == 4, "four runs")
        self.wait_compared("3 keys")
        self.look("runs-compared")
        self.browser.check_clean()

    def test_looks_with_overlays_and_failures(self):
        self.fake()
        ids = [self.run_named(name).id for name in ("muon-test", "demo", "overfit")]
        self.open(f"#run={ids[0]}&with={ids[1]},{ids[2]}")
        self.browser.wait(lambda: len(self.browser.js("return group.runs")) == 3, "three runs")
        self.browser.wait(lambda: self.browser.all(".mark.failure"), "marks")
        self.look("runs-overlay")
        self.browser.check_clean()


if __name__ == "__main__":
    page_case.main()
