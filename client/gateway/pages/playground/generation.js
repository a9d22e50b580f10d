"use strict";
// One card of the output: a request to one model, its texts as they stream in, its speed and its error.

const MOST_RETRIES = {429: 20, 503: 60};

class Generation {
  // `head` is the first element of the card's title; `actions` has branch(text) and proceed(text).
  constructor(model, head, actions) {
    this.model = model;
    this.actions = actions;
    this.aborter = null;
    this.status = node("span", {class: "status muted small number"});
    this.badge = node("span", {class: "badge", hidden: true});
    this.texts = node("div", {class: "texts"});
    this.element = node("article", {class: "card answer", "aria-label": model},
      node("header", {}, head, this.badge), this.texts, node("footer", {}, this.status));
    this.state = "idle";
  }

  // Runs the request to its end; never throws. `body` is the request of the API.
  async run(body) {
    this.prepare(body);
    this.aborter = new AbortController();
    try {
      await this.request(body);
      this.finish("done");
    } catch (error) {
      if (error.name === "AbortError" || this.aborter.signal.aborted) this.finish("stopped");
      else this.fail(error);
    }
  }

  stop() {
    this.aborter?.abort();
  }

  prepare(body) {
    this.prompt = body.prompt;
    this.views = Array.from({length: body.n || 1}, (_, i) => this.newView(body, i));
    this.texts.replaceChildren(...this.views.map((view) => node("div", {class: "sample"}, view.element)));
    this.reasons = [];
    this.tokens = 0;
    this.usage = null;
    this.began = performance.now();
    this.first = 0;
    this.latest = 0;
    this.setState("waiting", "Waiting for the first token", "");
    for (const view of this.views) view.setStreaming(true);
  }

  newView(body, index) {
    const label = `Text ${body.n > 1 ? `${index + 1} ` : ""}by ${this.model}. Arrow keys move through its tokens`;
    const view = new TextView(label, (before, text) => this.actions.branch(this.prompt + before + text));
    view.prompt.textContent = body.prompt;
    return view;
  }

  // Sends the request, and repeats it while the gateway loads the model (503) or is busy (429), after the time in
  // Retry-After.
  async request(body) {
    for (let attempt = 0; ; attempt += 1) {
      try {
        const response = await ask("v1/completions", {
          method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify(body),
          signal: this.aborter.signal,
        });
        return await this.receive(response);
      } catch (error) {
        if (this.first || attempt >= (MOST_RETRIES[error.status] || 0)) throw error;
        await this.waitBeforeRetry(error);
      }
    }
  }

  async waitBeforeRetry(error) {
    const why = error.status === 503 ? "The model is being loaded" : "The gateway is busy";
    for (let left = Math.max(1, Math.min(30, error.retrySeconds)); left > 0; left -= 1) {
      this.setState("waiting", `${why}; trying again in ${left} s`, "warn");
      await this.pause(1000);
    }
    this.setState("waiting", why, "warn");
    this.began = performance.now();
  }

  pause(milliseconds) {
    const {signal} = this.aborter;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(resolve, milliseconds);
      signal.addEventListener("abort", () => {
        clearTimeout(timer);
        reject(new DOMException("stopped", "AbortError"));
      }, {once: true});
    });
  }

  async receive(response) {
    let complete = false;
    try {
      for await (const data of eventData(response)) {
        if (data === "[DONE]") complete = true;
        else this.take(JSON.parse(data));
      }
    } catch (error) {
      if (error.name === "AbortError" || error instanceof GatewayError) throw error;
    }
    if (!complete) throw new GatewayError("The connection ended before the text was complete.");
  }

  take(chunk) {
    if (chunk.error) throw new GatewayError(chunk.error.message, Number(chunk.error.code) || 0);
    if (chunk.usage) this.usage = chunk.usage;
    if (chunk.model && chunk.model !== this.resolved) this.showResolved(chunk.model);
    for (const choice of chunk.choices) {
      const view = this.views[choice.index];
      if (!view) continue;
      if (choice.text || choice.logprobs?.tokens.length) this.count(choice);
      view.add(choice.text, choice.logprobs);
      if (choice.finish_reason) {
        this.reasons.push(choice.finish_reason);
        view.finish();
      }
    }
    this.showSpeed();
  }

  // Shows the checkpoint that an alias such as `demo` was resolved to.
  showResolved(model) {
    this.resolved = model;
    const title = this.element.querySelector("h3 code");
    if (title) title.textContent = model;
  }

  count(choice) {
    this.tokens += choice.logprobs ? choice.logprobs.tokens.length : 1;
    this.latest = performance.now();
    if (this.first) return;
    this.first = this.latest;
    this.firstTokens = this.tokens;
    this.setState("streaming", "Writing", "accent");
  }

  speedText() {
    if (!this.first) return "";
    const tokens = this.usage ? this.usage.completion_tokens : this.tokens;
    const speed = this.speed(tokens);
    const parts = [`${grouped(tokens)} token${tokens === 1 ? "" : "s"}`];
    if (speed > 0) parts.push(`${speed < 10 ? speed.toFixed(1) : grouped(speed)} tokens/s`);
    parts.push(`first after ${durationShort((this.first - this.began) / 1000)}`);
    return parts.join(" · ");
  }

  // Tokens per second since the first tokens arrived. If all of them arrived at once: over the whole request.
  speed(tokens) {
    const seconds = (this.latest - this.first) / 1000;
    if (seconds > 0.05 && tokens > this.firstTokens) return (tokens - this.firstTokens) / seconds;
    return tokens / ((this.latest - this.began) / 1000);
  }

  showSpeed() {
    this.status.textContent = this.speedText();
  }

  // The badge shows the state of the text in one or two words.
  setState(state, words, tone) {
    this.state = state;
    this.badge.hidden = !words;
    this.badge.className = `badge ${tone}`;
    this.badge.textContent = words;
  }

  finish(how) {
    for (const view of this.views) view.finish();
    const stopped = this.reasons.every((reason) => reason === "stop") ? "Ended by itself" : "Length reached";
    if (how === "done") this.setState("done", stopped, "good");
    else this.setState("stopped", "Stopped", "");
    this.showSpeed();
    if (this.text()) this.showActions();
  }

  // The data to show this card again after a reload or from the list of earlier texts.
  kept() {
    const texts = this.views.map(({text, logprobs}) => ({text, logprobs: logprobs.tokens.length > 0 ? logprobs : null}));
    const isWhole = ["done", "stopped", "past"].includes(this.state);
    const badge = isWhole ? [this.badge.textContent, this.badge.classList.item(1) ?? ""] : ["Cut short", "warn"];
    return {model: this.model, resolved: this.resolved, prompt: this.prompt, texts, badge, speed: this.status.textContent};
  }

  restore({resolved, prompt, texts, badge, speed}) {
    this.prepare({prompt, n: texts.length});
    this.views.forEach((view, i) => {
      view.add(texts[i].text, texts[i].logprobs);
      view.finish();
    });
    if (resolved) this.showResolved(resolved);
    this.setState("past", ...badge);
    this.status.textContent = speed;
    if (this.text()) this.showActions();
  }

  fail(error) {
    for (const view of this.views) view.finish();
    this.setState("failed", "Failed", "bad");
    this.texts.append(node("div", {class: "notice bad", role: "alert"}, node("p", {}, this.errorWords(error)),
      node("button", {class: "compact", onclick: () => this.actions.again()}, "Try again")));
  }

  errorWords(error) {
    const kept = this.text() ? " What was written so far is kept." : "";
    if (error.status === 429) return `The gateway is busy and has refused this text (429): ${error.message}`;
    if (error.status === 503) return `The model could not be loaded (503): ${error.message}`;
    if (error instanceof GatewayError) return error.message + kept;
    return `The page could not read the answer: ${error.message}.${kept}`;
  }

  showActions() {
    this.views.forEach((view) => {
      const whole = this.prompt + view.text;
      view.element.after(node("div", {class: "answer-actions"},
        node("button", {class: "plain compact", onclick: () => copyText(whole, "Text")}, picture("copy"), "Copy text"),
        node("button", {class: "plain compact", title: "Put this text into the prompt and continue it",
          onclick: () => this.actions.proceed(whole)}, picture("forward"), "Continue")));
    });
  }

  text() {
    return (this.views || []).map((view) => view.text).join("\n");
  }
}

const durationShort = (seconds) => seconds < 1 ? `${Math.round(seconds * 1000)} ms` : `${seconds.toFixed(1)} s`;
