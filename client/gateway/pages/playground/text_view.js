"use strict";
// One text as it streams in: a span for each token, coloured by its probability. Tokens that are parts of one character
// share a span.

const PROBABILITY_STEPS = [0.02, 0.1, 0.3, 0.6, 0.9];
const BYTES_TOKEN = /^bytes:((?:\\x[0-9a-f]{2})+)$/i;

function tokenBytes(text) {
  const match = BYTES_TOKEN.exec(text);
  if (!match) return new TextEncoder().encode(text);
  return Uint8Array.from(match[1].split("\\x").slice(1).map((digits) => parseInt(digits, 16)));
}

const probabilityClass = (probability) => `p${PROBABILITY_STEPS.filter((step) => probability >= step).length}`;

const REPLACEMENT = "\ufffd";
const isLeadByte = (byte) => byte >= 0xc2 && byte <= 0xf4;
const isContinuation = (byte) => byte >= 0x80 && byte <= 0xbf;

// Assigns the characters of a text to its tokens. As in the WHATWG decoder, each invalid byte sequence appears in the text as
// one U+FFFD, which belongs to the token with the first byte of the sequence.
class TokenDecoder {
  constructor() {
    this.decoder = new TextDecoder("utf-8", {ignoreBOM: true});
    this.isInside = false;  // the bytes so far end inside a character
  }

  // The number of characters that a token's bytes complete: `own`, the token's, and `before`: 1 if the token shows that a
  // character begun by an earlier token is invalid, so that a U+FFFD belongs to that token.
  take(bytes) {
    const length = {before: 0, own: 0};
    let beganHere = false;
    for (const byte of bytes) {
      const text = this.decoder.decode(Uint8Array.of(byte), {stream: true});
      const givesUp = this.isInside && text.startsWith(REPLACEMENT) && !(text.length === 1 && isContinuation(byte));
      if (givesUp && !beganHere) length.before += 1;
      length.own += text.length - (givesUp && !beganHere ? 1 : 0);
      this.isInside = isLeadByte(byte) || (isContinuation(byte) && text === "" && this.isInside);
      beganHere = isLeadByte(byte) || (beganHere && this.isInside);
    }
    return length;
  }
}

// `branch(textBefore, alternative)` is called when the user chooses an alternative to a token.
class TextView {
  constructor(label, branch) {
    this.text = "";
    this.tokens = [];    // {text, start, parts: [{text, logprob, top}], probability}
    this.waiting = [];   // tokens whose characters have not arrived yet
    this.shown = 0;      // characters of `text` that are in the document
    this.decoder = new TokenDecoder();
    this.logprobs = {tokens: [], token_logprobs: [], top_logprobs: []};  // all received so far
    this.current = -1;
    this.branch = branch;
    this.prompt = node("span", {class: "prompt-text"});
    this.body = node("span", {class: "tokens"});
    this.caret = node("span", {class: "caret", "aria-hidden": "true", hidden: true});
    this.element = node("div", {class: "text", tabindex: 0, role: "group", "aria-label": label},
      this.prompt, this.body, this.caret);
    this.listen();
  }

  // Adds this text's part of one chunk of the stream.
  add(text, logprobs) {
    this.text += text;
    const fragment = document.createDocumentFragment();
    if (logprobs) {
      logprobs.tokens.forEach((token, i) => {
        this.addToken(token, logprobs.token_logprobs[i] ?? 0, logprobs.top_logprobs?.[i] || null);
      });
      this.placeTokens(fragment);
    } else if (this.waiting.length === 0) {
      this.placeRest(fragment);
    }
    this.body.append(fragment);
  }

  addToken(text, logprob, top) {
    for (const [name, value] of [["tokens", text], ["token_logprobs", logprob], ["top_logprobs", top]]) {
      this.logprobs[name].push(value);
    }
    const {before, own} = this.decoder.take(tokenBytes(text));
    if (before > 0) this.waiting.at(-1).length += before;
    this.waiting.push({text, length: own, logprob, top});
  }

  // Adds spans for the tokens whose characters have arrived. Tokens that are parts of one character share a span. A token
  // that ends inside a character waits for the next token, which completes the character or makes it invalid.
  placeTokens(fragment) {
    for (;;) {
      const open = this.decoder.isInside ? this.waiting.length - 1 : -1;
      const last = this.waiting.findIndex((part, i) => part.length > 0 && i !== open);
      if (last < 0 || this.shown + this.waiting[last].length > this.text.length) return;
      const parts = this.waiting.splice(0, last + 1);
      this.placeToken(fragment, parts, parts[last].length);
    }
  }

  placeToken(fragment, parts, length) {
    const text = this.text.slice(this.shown, this.shown + length);
    const probability = Math.exp(parts.reduce((sum, part) => sum + part.logprob, 0));
    const token = {text, start: this.shown, parts, probability};
    const look = `token ${probabilityClass(probability)}`;
    const span = node("span", {class: look, "data-token": this.tokens.length}, text);
    this.tokens.push(token);
    this.shown += length;
    fragment.append(span);
  }

  // Adds the text that has no token: all of it if no logprobs were requested, or the rest of the last token when a stop
  // string has cut it.
  placeRest(fragment) {
    if (this.shown < this.text.length) fragment.append(this.text.slice(this.shown));
    this.shown = this.text.length;
  }

  finish() {
    const fragment = document.createDocumentFragment();
    const left = this.text.length - this.shown;
    if (left > 0 && this.waiting.length > 0) this.placeToken(fragment, this.waiting.splice(0), left);
    this.placeRest(fragment);
    this.body.append(fragment);
    this.setStreaming(false);
  }

  setStreaming(streaming) {
    this.caret.hidden = !streaming;
    this.element.setAttribute("aria-busy", String(streaming));
  }

  spanOf(event) {
    return event.target.closest(".token");
  }

  show(span, pinned) {
    const index = Number(span.dataset.token);
    for (const other of document.querySelectorAll(".token.current")) other.classList.remove("current");
    span.classList.add("current");
    this.current = index;
    const branch = (token, text) => this.branch(this.text.slice(0, token.start), text);
    showTokenCard(span, this.tokens[index], branch, pinned);
  }

  listen() {
    this.element.addEventListener("pointerover", (event) => {
      const span = this.spanOf(event);
      if (span && event.pointerType === "mouse" && !tokenCard.pinned) this.show(span, false);
    });
    this.element.addEventListener("pointerleave", () => { if (!tokenCard.pinned) hideTokenCard(); });
    this.element.addEventListener("click", (event) => {
      const span = this.spanOf(event);
      if (span && getSelection().isCollapsed) this.show(span, true);
    });
    this.element.addEventListener("keydown", (event) => this.walk(event));
    this.element.addEventListener("blur", () => { if (!tokenCard.pinned) hideTokenCard(); });
  }

  // Arrow keys move from token to token; Enter pins the card.
  walk(event) {
    const moves = {ArrowRight: 1, ArrowLeft: -1};
    if (event.ctrlKey || event.metaKey || event.altKey || this.tokens.length === 0) return;
    if (event.key === "Enter" && this.current >= 0) {
      this.show(this.spanAt(this.current), true);
      $("#token-card button")?.focus();
    } else if (moves[event.key]) {
      const index = Math.min(this.tokens.length - 1, Math.max(0, this.current + moves[event.key]));
      this.show(this.spanAt(index), false);
      announce(this.words(this.tokens[index]));
    } else {
      return;
    }
    event.preventDefault();
  }

  spanAt(index) {
    return this.body.querySelector(`[data-token="${index}"]`);
  }

  words(token) {
    const others = alternativesOf(token.parts[0]).filter((entry) => entry.text !== token.parts[0].text).slice(0, 3);
    return `${visibleText(token.text)}, ${percentText(token.probability)}; else ` +
      others.map((entry) => `${visibleText(entry.text)} ${percentText(entry.probability)}`).join(", ");
  }
}
