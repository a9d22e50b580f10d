#!/usr/bin/env python3
"""The page of runs in headless Chromium: charts, zoom, overlays, events, checkpoints. Command line: see page_case.py."""

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
        gateway.stream_refusal = (429, "500 pages of this client are kept up to date already")
        gateway.streams_allowed.clear()
        self.browser.open("/runs")
        self.browser.wait_text("#unreachable-title", "The gateway refuses this page (429)")
        self.assertEqual(self.browser.text("#unreachable-text"), gateway.stream_refusal[1])
        self.assertEqual(self.browser.text("#unreachable-retry"), "Try again")
        self.browser.check_accessible()
        gateway.streams_allowed.set()
        self.browser.wait_text("#top-state", "Live")
        gateway.streams_allowed.clear()
        self.browser.wait_text("#banner", "not keep this page up to date: " + gateway.stream_refusal[1])
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
