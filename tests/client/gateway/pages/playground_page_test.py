#!/usr/bin/env python3
"""The playground in headless Chromium: typing, clicking, waiting for text. See page_case.py for the command line."""

import json
import subprocess
import sys
import types

import fake_text
import page_case
from browser import By
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

SETTINGS = "return JSON.stringify(settings)"


class Playground(page_case.PageCase):

    def open(self, fragment=""):
        self.browser.open("/" + fragment)
        self.browser.wait_shown("#generate")

    def fresh(self, fragment=""):
        """Opens the page with empty storage, as in a new browser."""
        self.open(fragment)
        self.browser.js("sessionStorage.clear(); localStorage.clear()")
        self.open(fragment)

    def type(self, selector, text):
        element = self.browser.wait_shown(selector)
        element.clear()
        element.send_keys(text)

    def set_number(self, name, value):
        element = self.browser.one(f"#set-{name}")
        element.send_keys(Keys.CONTROL, "a")
        element.send_keys(str(value), Keys.TAB)

    def finished(self, count=1):
        ended = ("Length reached", "Ended by itself")
        badges = lambda: self.browser.js("return [...document.querySelectorAll('.answer .badge')].map((one) => one.textContent)")
        self.browser.wait(lambda: sum(text in ended for text in badges()) == count, f"{count} finished texts")

    def write(self, prompt="Once upon", tokens=24):
        self.type("#prompt", prompt)
        self.set_number("max_tokens", tokens)
        self.browser.click("#generate")
        self.finished()

    # Writing and stopping

    def test_streams_a_text(self):
        self.fresh()
        self.write("The machine", 24)
        self.assertTrue(self.browser.text(".prompt-text") == "The machine")
        self.assertGreaterEqual(len(self.browser.all(".token")), 20 if self.url is None else 1)
        self.assertRegex(self.browser.text(".status"), r"^\d+ tokens · [\d.]+ tokens/s · first after \d")
        self.browser.check_clean()

    def test_text_appears_while_it_is_written_and_stops_within_a_token(self):
        gateway = self.fake(token_seconds=0.1)
        self.fresh()
        self.set_number("max_tokens", 900)
        self.browser.click("#generate")
        self.browser.wait(lambda: len(self.browser.all(".token")) >= 3, "the first tokens")
        self.assertTrue(self.browser.one("#stop").is_displayed())
        self.assertEqual(self.browser.one("#output").get_attribute("aria-busy"), "true")
        self.browser.click("#stop")
        self.browser.wait_text(".answer .badge", "Stopped")
        self.browser.wait(lambda: gateway.left_early == 1, "the gateway to notice")
        self.assertTrue(self.browser.one("#generate").is_displayed())
        self.browser.check_clean()

    def test_keyboard_runs_and_stops(self):
        self.fake(token_seconds=0.1)
        self.fresh()
        self.set_number("max_tokens", 900)
        self.browser.one("#prompt").send_keys(" there was", Keys.CONTROL + Keys.ENTER)
        self.browser.wait(lambda: len(self.browser.all(".token")) >= 2, "the first tokens")
        self.browser.one("body").send_keys(Keys.ESCAPE)
        self.browser.wait_text(".answer .badge", "Stopped")
        self.assertNotIn("\n", self.browser.one("#prompt").get_attribute("value"))

    def test_screen_reader_hears_the_beginning_and_the_end_only(self):
        self.fresh()
        self.browser.js("""window.heard = [];
            const region = document.querySelector("#announcements");
            new MutationObserver(() => heard.push(region.textContent)).observe(region, {childList: true, subtree: true})""")
        self.write(tokens=40)
        self.browser.wait_text("#announcements", "first after")
        heard = self.browser.js("return heard")
        self.assertEqual(len(heard), 2, heard)
        self.assertIn("Writing with", heard[0])

    def test_characters_of_several_tokens_stay_whole(self):
        self.fake()
        self.fresh("#seed=3&temperature=0")
        self.write(tokens=120)
        text = self.browser.text(".tokens")
        self.assertIn("“It is not magic,”", text)
        self.assertNotIn("�", text)
        self.assertNotIn("bytes:", text)

    # Case gateway-and-pages/07: after bytes that are not characters, tokens were shown at wrong places.
    def test_tokens_keep_their_places_after_bytes_that_are_no_characters(self):
        self.fake(token_seconds=0).broken = 0.4
        for seed in range(6):
            self.fresh(f"#seed={seed}&max_tokens=300&n=4")
            self.browser.click("#generate")
            self.finished()
            texts = self.browser.js("""return generations[0].views.map((view) => ({
                text: view.text, shown: view.body.textContent,
                tokens: view.tokens.map((token) => ({text: token.text, start: token.start,
                  names: token.parts.map((part) => part.text)}))}))""")
            for one in texts:
                self.assertEqual(one["shown"], one["text"])
                self.assertIn("\ufffd", one["text"])
                names = [name for token in one["tokens"] for name in token["names"]]
                self.assertGreaterEqual(len(names), 298, "all tokens but the last ones, whose text did not come")
                for token in one["tokens"]:
                    plain = [name for name in token["names"] if not name.startswith("bytes:")]
                    if plain:
                        self.assertEqual([token["text"]], token["names"])
                        utf16 = one["text"].encode("utf-16-le")[2 * token["start"]:].decode("utf-16-le")
                        self.assertTrue(utf16.startswith(token["text"]))
                    else:
                        data = b"".join(fake_text.piece_bytes(name) for name in token["names"])
                        self.assertIn(len(token["text"]), (len(data.decode(errors="replace")), 1, 2, 3))

    def test_characters_are_divided_among_the_tokens_that_they_came_in(self):
        self.fresh()
        cases = [
            ([b"\xe2", b"\x80", b"\x99"], [[0, 0], [0, 0], [0, 1]]),          # one character in three tokens
            ([b"\xff", b"a"], [[0, 1], [0, 1]]),
            ([b"\xe2", b"a"], [[0, 0], [1, 1]]),                               # abandoned at the next token
            ([b"\xe2\x80", b"\xc3", b"\xa9"], [[0, 0], [1, 0], [0, 1]]),
            ([b"\xc3", b"\xff"], [[0, 0], [1, 1]]),
            ([b"\xe0", b"\x80"], [[0, 0], [1, 1]]),                            # never follows E0
            ([b"\xed\xa0\x80"], [[0, 3]]),                                    # half of a surrogate pair
            ([b"\xef", b"\xbf", b"\xbd", b"b"], [[0, 0], [0, 0], [0, 1], [0, 1]]),  # U+FFFD itself
            ([b"\xf0\x9f", b"\x98\x80"], [[0, 0], [0, 2]]),                   # two units in JavaScript
            ([b"\xf4", b"\x90", b"x"], [[0, 0], [1, 1], [0, 1]]),
            ([b"\xe2a\xe2", b"\x80\x99b"], [[0, 2], [0, 2]]),
            ([b"\xef\xbb\xbfa"], [[0, 2]]),                                    # a byte order mark is a character
        ]
        for tokens, expected in cases:
            lengths = self.browser.js("""const decoder = new TokenDecoder();
                return arguments[0].map((bytes) => Object.values(decoder.take(bytes)))""", [list(token) for token in tokens])
            self.assertEqual(lengths, expected, tokens)

    # Tokens

    def test_colours_and_alternatives(self):
        self.fresh()
        self.write()
        self.assertTrue(self.browser.all(".coloured .token[class*='p']"))
        back = lambda: self.browser.js("return getComputedStyle(document.querySelector('.token')).backgroundColor")
        coloured = back()
        token = self.browser.all(".token")[3]
        ActionChains(self.browser.driver).move_to_element(token).perform()
        card = self.browser.wait_shown("#token-card")
        self.assertRegex(card.text, r"\d%")
        self.assertGreaterEqual(len(self.browser.all("#token-card .alternative")), 2)
        self.assertNotIn("null", card.text)
        self.browser.check_accessible()
        self.browser.click("#colours")
        self.assertNotEqual(back(), coloured)

    def test_an_alternative_writes_on_from_there(self):
        self.fake()
        self.fresh()
        self.write("Start", 12)
        before = "Start" + "".join(one.get_attribute("textContent") for one in self.browser.all(".token")[:4])
        self.browser.all(".token")[4].click()
        button = self.browser.wait_shown("#token-card button.alternative")
        chosen = button.find_element(By.CSS_SELECTOR, "code").text.replace("␣", " ").replace("↵", "\n")
        button.click()
        self.browser.wait(lambda: len(self.asked("/v1/completions")) == 2, "a second request")
        self.assertEqual(self.asked("/v1/completions")[-1]["prompt"], before + chosen)
        self.finished()

    def test_arrow_keys_walk_through_tokens(self):
        self.fresh()
        self.write()
        text = self.browser.one(".text")
        self.browser.js("arguments[0].focus()", text)
        text.send_keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
        self.assertEqual(self.browser.one(".token.current").get_attribute("data-token"), "1")
        self.assertRegex(self.browser.text("#announcements"), r"%; else ")
        text.send_keys(Keys.ENTER)
        inside = lambda: self.browser.js("return document.activeElement.closest('#token-card') !== null")
        self.browser.wait(inside, "focus on an alternative")
        self.browser.driver.switch_to.active_element.send_keys(Keys.ESCAPE)
        self.assertFalse(self.browser.one("#token-card").is_displayed())

    # Several texts

    def test_watch_it_learn(self):
        if self.url is None:
            self.fake().hold_after = 5
        self.fresh()
        self.set_number("max_tokens", 30)
        self.browser.click("#mode-learn")
        count = len(self.browser.all(".columns .answer"))
        if count < 2:
            self.skipTest("the gateway's newest run has fewer than two checkpoints")
        self.browser.click("#generate")
        columns = lambda: self.browser.all(".columns .answer")
        begun = lambda: all(column.find_elements(By.CSS_SELECTOR, ".token") for column in columns())
        writing = lambda: self.url is not None or "Writing" in self.browser.text("#output")
        self.browser.wait(lambda: begun() and writing(), "all columns at once")
        if self.url is None:
            self.gateway.released.set()
        self.finished(count)
        self.browser.check_clean()
        if self.url is not None:
            return
        bodies = self.asked("/v1/completions")
        models = {body["model"] for body in bodies}
        self.assertEqual((count, len(models)), (4, 4))
        self.assertEqual(len({(body["seed"], body["prompt"]) for body in bodies}), 1)
        self.assertIn("demo@250", models)
        self.browser.click("[aria-label='6 columns']")
        self.assertEqual(len(self.browser.all(".columns .answer")), 6)
        self.browser.check_clean()
        self.browser.click("#generate")
        self.finished(6)
        self.look("playground-learn")

    def test_several_samples(self):
        self.fresh()
        self.set_number("n", 3)
        self.write(tokens=8)
        texts = [one.get_attribute("textContent") for one in self.browser.all(".tokens")]
        self.assertEqual(len(texts), 3)
        if self.url is None:
            self.assertEqual(len(set(texts)), 3)

    # Case gateway-and-pages/10: long samples left their card.
    def test_samples_stay_in_their_card(self):
        self.fake(token_seconds=0)
        for width, height in ((1920, 1080), (1440, 900), (1280, 800), (1024, 768), (390, 844), (340, 700)):
            self.browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
                "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500})
            for count in (2, 5, 8):
                self.fresh(f"#n={count}&max_tokens=30&seed=3")
                self.browser.click("#generate")
                self.finished()
                wide, outside, narrowest, actions = self.browser.js("""
                    const card = document.querySelector("#output .answer").getBoundingClientRect();
                    const texts = [...document.querySelectorAll("#output .text")].map((one) => one.getBoundingClientRect());
                    const actions = [...document.querySelectorAll(".answer-actions")].map((one) => one.getBoundingClientRect());
                    return [document.documentElement.scrollWidth - innerWidth,
                      texts.filter((one) => one.right > card.right + 1).length,
                      Math.min(...texts.map((one) => one.width)),
                      actions.filter((one, i) => one.left >= texts[i].left - 1 && one.right <= texts[i].right + 1
                        && one.top >= texts[i].bottom - 1).length]""")
                self.assertLessEqual(wide, 0, f"{count} samples at {width} px")
                self.assertEqual(outside, 0, f"{count} samples at {width} px")
                self.assertGreater(narrowest, 250, f"{count} samples at {width} px")
                self.assertEqual(actions, count, f"{count} samples at {width} px: each has its buttons below it")

    def test_a_refusal_of_several_samples_is_as_wide_as_the_card(self):
        gateway = self.fake()
        self.fresh("#n=4&max_tokens=8")
        gateway.failures = [(400, "no", 0)]
        self.browser.click("#generate")
        notice = self.browser.wait_shown(".answer [role=alert]")
        self.assertGreater(notice.size["width"], 0.9 * self.browser.one(".texts").size["width"])

    def test_step_slider_chooses_a_checkpoint(self):
        self.fake()
        self.fresh()
        slider = self.browser.one("#step-slider")
        self.browser.js("arguments[0].focus()", slider)
        slider.send_keys(Keys.HOME)
        self.browser.wait_text("#step-text", "step 250")
        self.write(tokens=4)
        self.assertEqual(self.asked("/v1/completions")[-1]["model"], "demo@250")
        self.browser.click("#pick-best")
        self.assertEqual(json.loads(self.browser.js(SETTINGS))["model"], "demo@best")

    def test_a_link_to_no_model_says_so_and_writes_with_no_other(self):
        self.fake()
        for mode in ("one", "learn"):
            self.open(f"#model=nothing&mode={mode}")
            self.browser.wait_text("#model-facts", "There is no model 'nothing'.")
            self.assertFalse(self.browser.one("#generate").is_enabled())
            self.assertEqual(self.browser.one("#generate").get_attribute("title"), "There is no model 'nothing'.")
            self.browser.one("#prompt").send_keys(Keys.CONTROL, Keys.ENTER)
            self.browser.wait_text("#announcements", "There is no model 'nothing'.")
            self.browser.check_accessible()
        self.assertEqual(self.asked("/v1/completions"), [])
        self.assertEqual(self.asked("/tokenize"), [])
        self.browser.check_clean(network_errors=True)
        self.browser.js("const runs = document.querySelector('#run-select'); runs.value = 'jargon-small';"
                        "runs.dispatchEvent(new Event('change'))")
        self.browser.click("#generate")
        self.finished(4)
        roots = {body["model"].split("@")[0] for body in self.asked("/v1/completions")}
        self.assertEqual(roots, {"jargon-small"})

    def test_the_newest_of_a_run_and_the_id_of_a_run_are_models(self):
        gateway = self.fake()
        newest = gateway.cluster.run_with("jargon-small")
        for name in ("jargon-small@latest", newest.id):
            self.fresh("#model=" + name)
            self.browser.wait_text("#step-text", "step 20,000")
            self.assertEqual(self.browser.one("#run-select").get_attribute("value"), "jargon-small")
            self.write(tokens=4)
            self.assertEqual(self.asked("/v1/completions")[-1]["model"], name)
            self.fresh("#mode=learn&model=" + name)
            self.assertEqual(len(self.browser.all(".columns .answer")), 4)
            self.browser.click("#generate")
            self.finished(4)
            self.assertEqual(self.asked("/v1/completions")[-1]["model"].split("@")[0], "jargon-small")
        self.browser.check_clean()

    # Links and code

    def test_a_link_restores_every_setting(self):
        self.fresh()
        for name, value in {"temperature": 1.25, "top_k": 7, "top_p": 0.9, "min_p": 0.05, "presence_penalty": -0.5,
                            "frequency_penalty": 0.7, "max_tokens": 33, "n": 2}.items():
            self.set_number(name, value)
        self.type("#prompt", "It's \"5 < 6\" & so on, 100 % sure: ä€")
        self.type("#stop-strings", "\\n\\n\nEND")
        self.type("#seed", "4711" + Keys.TAB)
        self.browser.click("#colours")
        self.browser.click("#mode-learn")
        self.browser.click("[aria-label='3 columns']")
        self.browser.click("#link-button")
        link = self.browser.wait(self.browser.copied, "the link")
        settings = json.loads(self.browser.js(SETTINGS))
        self.assertEqual([settings[name] for name in ("seed", "top_p", "columns", "stop")], [4711, 0.9, 3, "\\n\\n\nEND"])
        self.fresh(link.removeprefix(self.browser.url + "/"))
        self.assertEqual(json.loads(self.browser.js(SETTINGS)), settings)
        self.assertEqual(self.browser.one("#prompt").get_attribute("value"), settings["prompt"])
        self.assertEqual(self.browser.one("#set-temperature").get_attribute("value"), "1.25")
        self.assertEqual(self.browser.one("#mode-learn").get_attribute("aria-pressed"), "true")

    def copy_code(self, language):
        self.browser.click("#code-button")
        self.browser.click(f"#tab-{language}")
        self.browser.click("#code-copy")
        code = self.browser.wait(self.browser.copied, "the code")
        self.browser.check_accessible()
        return code

    def test_curl_works_as_typed(self):
        self.fresh("#seed=5&max_tokens=6")
        prompt = "It's \"five\" $HOME `date` \\n"
        self.type("#prompt", prompt)
        answer = subprocess.run(["bash", "-c", self.copy_code("curl")], check=True, capture_output=True, text=True)
        choices = json.loads(answer.stdout)["choices"]
        self.assertEqual(len(choices), 1)
        self.assertTrue(choices[0]["text"])
        if self.url is None:
            self.assertEqual(self.asked("/v1/completions")[-1]["prompt"], prompt)

    def test_python_asks_the_same(self):
        self.fresh("#seed=5&max_tokens=6&stop=END")
        self.type("#prompt", "It's \"five\"")
        got = {}
        def create(**arguments):
            got.update(arguments)
            return types.SimpleNamespace(choices=[])
        def client(**arguments):
            self.assertEqual(arguments["base_url"], self.browser.url + "/v1")
            return types.SimpleNamespace(completions=types.SimpleNamespace(create=create))
        sys.modules["openai"] = types.SimpleNamespace(OpenAI=client)
        self.addCleanup(sys.modules.pop, "openai")
        exec(self.copy_code("python"), {})
        body = json.loads(self.browser.js("return JSON.stringify(requestBody(settings.model))"))
        extra = got.pop("extra_body")
        self.assertEqual({**got, **extra}, body)
        self.assertEqual(body["stop"], ["END"])

    def test_history_brings_a_text_back(self):
        self.fresh()
        self.write("First prompt", 8)
        self.write("Second prompt", 8)
        self.browser.wait(lambda: len(self.browser.all(".past")) == 2, "two earlier texts")
        self.browser.js("document.querySelectorAll('.past')[1].click()")
        self.assertEqual(self.browser.one("#prompt").get_attribute("value"), "First prompt")
        self.browser.wait_text(".answer .badge", "From before")

    def test_a_text_fits_into_the_context(self):
        self.fake()
        self.fresh("#max_tokens=1023&prompt=one+two+three")
        self.browser.wait_text("#prompt-count", "3 tokens; the context of 1,024 leaves 1,021 to write")
        self.browser.click("#generate")
        self.browser.wait(lambda: self.asked("/v1/completions"), "the request")
        self.assertEqual(self.asked("/v1/completions")[-1]["max_tokens"], 1021)
        self.browser.click("#stop")

    def test_a_prompt_that_is_too_long_is_not_sent(self):
        self.fake()
        self.fresh()
        self.browser.js("""const field = document.querySelector("#prompt"); field.value = "word ".repeat(1030).trim();
                           field.dispatchEvent(new Event("input"));""")
        self.browser.wait_text("#prompt-count", "1,030 tokens, 7 too many: prompt and text share a context of 1,024")
        button = self.browser.one("#generate")
        self.assertFalse(button.is_enabled())
        self.assertIn("1,030 tokens, 7 too many", button.get_attribute("title"))
        self.browser.check_accessible()
        self.browser.one("#prompt").send_keys(Keys.CONTROL + Keys.ENTER)
        self.browser.wait_text("#announcements", "The prompt is too long")
        self.assertFalse(self.asked("/v1/completions"))
        self.browser.click("#mode-learn")
        self.assertFalse(button.is_enabled())
        self.type("#prompt", "short again")
        self.browser.wait(button.is_enabled, "the button")
        self.browser.click("#mode-one")
        self.write("short", 4)

    def test_a_long_prompt_sent_at_once_is_counted_first(self):
        self.fake()
        self.fresh()
        self.browser.js("""const field = document.querySelector("#prompt"); field.value = "word ".repeat(1024).trim();
                           field.dispatchEvent(new Event("input")); generate();""")
        self.browser.wait_text("#prompt-count", "1,024 tokens, 1 too many")
        self.browser.wait_shown("#generate")
        self.assertFalse(self.asked("/v1/completions"))

    def test_the_last_texts_are_there_after_a_reload(self):
        self.fake()
        self.fresh("#n=3")
        self.write("Reload", 20)
        before = [one.get_attribute("innerHTML") for one in self.browser.all(".answer .text")]
        status = self.browser.text(".status")
        self.browser.driver.refresh()
        self.browser.wait(lambda: len(self.browser.all(".answer .tokens")) == 3, "the texts")
        self.assertEqual([one.get_attribute("innerHTML") for one in self.browser.all(".answer .text")], before)
        self.assertEqual((self.browser.text(".answer .badge"), self.browser.text(".status")), ("Length reached", status))
        self.browser.all(".token")[3].click()
        self.assertGreaterEqual(len(self.browser.wait_shown("#token-card").find_elements(By.CSS_SELECTOR, ".alternative")), 2)
        self.assertEqual(len(self.browser.all(".answer-actions")), 3)
        self.browser.check_clean()
        self.open("#model=demo@best")
        self.assertFalse(self.browser.all(".answer .tokens"), "the text of another model")

    def test_texts_side_by_side_are_there_after_a_reload(self):
        self.fake()
        self.fresh("#max_tokens=6&mode=learn")
        self.browser.click("#generate")
        self.finished(4)
        before = [one.text for one in self.browser.all(".answer .text")]
        self.browser.driver.refresh()
        self.browser.wait(lambda: [one.text for one in self.browser.all(".answer .text")] == before, "the texts")

    def test_a_reload_cuts_a_text_short(self):
        gateway = self.fake()
        gateway.hold_after = 5
        self.fresh("#max_tokens=200")
        self.browser.click("#generate")
        self.browser.wait(lambda: len(self.browser.all(".token")) >= 3, "the first tokens")
        self.browser.driver.refresh()
        self.browser.wait_text(".answer .badge", "Cut short")
        self.assertGreaterEqual(len(self.browser.all(".token")), 3)
        gateway.released.set()

    def test_a_phone_begins_with_the_prompt(self):
        self.fake()
        self.browser.resize("phone")
        self.fresh()
        tops = [self.browser.one(selector).location["y"] for selector in (".composer", "#output", ".model", ".settings")]
        self.assertEqual(tops, sorted(tops))
        self.assertLess(tops[0], 80)
        self.browser.click("#generate")
        self.finished()
        self.look("playground-first")

    # Trouble

    def test_says_when_the_key_is_refused(self):
        self.fake(key="secret")
        self.browser.open("/")
        self.type("#key-field", "wrong" + Keys.ENTER)
        self.browser.wait_text("#key-title", "Key refused")
        self.browser.click("#key-cancel")
        self.browser.wait_text("#unreachable-title", "Key refused")
        self.browser.wait_text("#top-state", "Key refused")
        self.assertIn("does not accept the API key", self.browser.text("#unreachable-text"))
        self.browser.check_accessible()
        self.browser.click("#unreachable-retry")
        self.type("#key-field", "secret" + Keys.ENTER)
        self.browser.wait_shown("#generate")
        self.browser.js("sessionStorage.clear()")

    def test_asks_for_the_key(self):
        self.fake(key="secret")
        self.browser.open("/")
        self.type("#key-field", "wrong" + Keys.ENTER)
        self.browser.wait_shown("#key-problem")
        self.browser.check_accessible()
        self.type("#key-field", "secret" + Keys.ENTER)
        self.browser.wait_shown("#generate")
        self.write(tokens=4)
        self.assertIn('"Authorization: Bearer $GP_API_KEY"', self.copy_code("curl"))
        self.assertNotIn("secret", self.browser.driver.current_url)
        self.browser.check_clean(network_errors=True)
        self.browser.js("sessionStorage.clear()")

    def test_says_when_the_gateway_is_busy_or_loads(self):
        gateway = self.fake()
        self.fresh()
        gateway.failures = [(429, "32 texts are waiting already", 2), (503, "loading demo@2500", 2)]
        self.browser.click("#generate")
        self.browser.wait_text(".answer .badge", "The gateway is busy; trying again in")
        self.browser.wait_text(".answer .badge", "The model is being loaded; trying again in")
        self.finished()
        self.browser.check_clean(network_errors=True)

    def test_says_what_a_refusal_was(self):
        gateway = self.fake()
        self.fresh()
        gateway.failures = [(400, "5 tokens of prompt and 1020 to write are more than 1024 <b>tokens</b>", 0)]
        self.browser.click("#generate")
        self.browser.wait_text(".answer [role=alert]", "are more than 1024 <b>tokens</b>")
        self.browser.click(".answer [role=alert] button")
        self.finished()

    def test_keeps_the_text_when_the_connection_breaks(self):
        gateway = self.fake()
        self.fresh()
        gateway.break_after = 5
        self.browser.click("#generate")
        self.browser.wait_text(".answer [role=alert]", "The connection ended before the text was complete.")
        self.assertIn("What was written so far is kept.", self.browser.text(".answer [role=alert]"))
        self.assertGreaterEqual(len(self.browser.all(".token")), 3)

    def test_says_when_the_gateway_is_gone(self):
        gateway = self.fake()
        self.fresh()
        gateway.stop()
        self.browser.click("#generate")
        self.browser.wait_text(".answer [role=alert]", "No connection to the gateway at http://127.0.0.1")
        self.browser.check_accessible()

    def test_without_a_model_it_says_how_to_train_one(self):
        gateway = self.fake(empty=True)
        self.browser.open("/")
        self.browser.wait_shown("#no-model")
        self.assertIn("make demo", self.browser.text("#no-model"))
        self.assertIn("gpctl up", self.browser.text("#no-model"))
        self.browser.check_clean()
        self.look("playground-empty")
        gateway.cluster.__init__()
        self.browser.wait_shown("#generate")

    # Looks

    def test_looks(self):
        self.fresh("#seed=7&fresh=0" if self.url is None else "")
        self.browser.check_accessible()
        self.write("Once upon a time", 90)
        self.look("playground")
        self.browser.resize("desktop")
        self.browser.theme(False)
        self.browser.all(".token")[14].click()
        self.browser.wait_shown("#token-card")
        self.browser.screenshot("playground-token", whole=False)
        self.browser.theme(True)
        self.browser.screenshot("playground-token-dark", whole=False)
        self.browser.check_clean()

    def test_theme_button_is_remembered(self):
        self.fresh()
        colour = lambda: self.browser.js("return getComputedStyle(document.body).backgroundColor")
        light = colour()
        self.browser.click("#theme-button")
        self.browser.click("#theme-button")
        dark = colour()
        self.assertNotEqual(light, dark)
        self.open()
        self.assertEqual(colour(), dark)
        self.browser.js("localStorage.clear()")


if __name__ == "__main__":
    page_case.main()
