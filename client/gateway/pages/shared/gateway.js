"use strict";
// Requests to the gateway: the API key and its dialog, error messages, event streams.

let apiKey = readKey();

function readKey() {
  try {
    return sessionStorage.getItem("gp-api-key") || "";
  } catch {
    return "";
  }
}

function storeKey(key) {
  apiKey = key;
  try {
    sessionStorage.setItem("gp-api-key", key);
  } catch {
    // sessionStorage is not available: the key then lasts until the page is closed.
  }
}

// An error response of the gateway, or no connection (status 0). `message` is shown to the user.
class GatewayError extends Error {
  constructor(message, status = 0, retrySeconds = 0) {
    super(message);
    this.status = status;
    this.retrySeconds = retrySeconds;
  }
}

// The absolute URL of a relative path. All paths are relative to the page, because a proxy may serve the gateway below a path
// of its own; every page is directly in the gateway's root.
const gatewayAddress = (path) => new URL(path, location.href).href;

// The gateway responded 401, and the user did not enter another key.
class KeyError extends GatewayError {
  constructor(wasRefused) {
    super(wasRefused ? "The gateway does not accept the API key that was entered." :
      "This gateway answers only requests that have an API key.", 401);
    this.title = wasRefused ? "Key refused" : "API key needed";
  }
}

// fetch() with the API key. Throws GatewayError unless the response is a success. On 401 it opens the key dialog and repeats
// the request with the new key.
async function ask(path, options = {}) {
  for (;;) {
    const headers = {...options.headers};
    const usedKey = apiKey;
    if (usedKey) headers.Authorization = `Bearer ${usedKey}`;
    let response;
    try {
      response = await fetch(path, {...options, headers});
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new GatewayError(`No connection to the gateway at ${location.origin}. Is it running?`);
    }
    if (response.status === 401) {
      if (usedKey === apiKey) await askForKey(Boolean(usedKey));
      continue;
    }
    if (!response.ok) throw await errorOf(response);
    return response;
  }
}

const askJson = async (path, options) => (await ask(path, options)).json();

async function errorOf(response) {
  let message = "";
  try {
    message = (await response.json()).error.message;
  } catch {
    // The response is not JSON: probably it comes from a proxy.
  }
  const retry = Number(response.headers.get("Retry-After")) || 0;
  message ||= `The gateway answered ${response.status} ${response.statusText}`;
  return new GatewayError(message, response.status, retry);
}

// The promise of the open key dialog, shared by all requests that wait for the key.
let keyQuestion = null;
function askForKey(wrong) {
  const dialog = $("#key-dialog");
  keyQuestion ??= new Promise((resolve, reject) => {
    $("#key-title").textContent = wrong ? "Key refused" : "This gateway requires an API key";
    $("#key-problem").hidden = !wrong;
    $("#key-field").value = "";
    dialog.showModal();
    dialog.addEventListener("close", () => {
      keyQuestion = null;
      if (dialog.returnValue === "send" && $("#key-field").value.trim()) {
        storeKey($("#key-field").value.trim());
        resolve();
      } else {
        reject(new KeyError(wrong));
      }
    }, {once: true});
  });
  return keyQuestion;
}

function startKeyDialog() {
  const dialog = $("#key-dialog");
  // The buttons submit no form, because the policy (form-action 'none') would block it.
  const send = () => dialog.close("send");
  $("#key-send").addEventListener("click", send);
  $("#key-cancel").addEventListener("click", () => dialog.close("cancel"));
  $("#key-field").addEventListener("keydown", (event) => { if (event.key === "Enter") send(); });
}

// Yields the text after each `data:` of an event stream; onBytes is also called for comments (`: ping`).
async function* eventData(response, onBytes = () => {}) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const {value, done} = await reader.read();
    if (done) return;
    onBytes();
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    for (const line of lines) {
      if (line.startsWith("data:")) yield line.slice(5).trim();
    }
  }
}

// An exception while the page handles an event must not end the stream.
function takeEventSafely(onEvent, data) {
  try {
    onEvent(JSON.parse(data));
  } catch (error) {
    console.error(error);
  }
}

// Keeps an event stream open. Calls onEvent(object) for each event, and onState when the connection changes:
//   onState("live")                      the stream is open;
//   onState("waiting", {seconds, error}) it will connect again; `error`: the gateway's response, undefined if there was none;
//   onState("locked", {error})           the gateway needs another key (KeyError); it does not connect again.
// EventSource cannot send an API key, so this function reads the stream itself. It connects again when the stream ends or
// sends nothing, not even pings, for SILENCE_SECONDS, and waits longer each time. The returned object's stop() ends it.
const SILENCE_SECONDS = 50;
function followEvents(path, onEvent, onState) {
  const aborter = new AbortController();
  let pause = 1;
  const connect = async () => {
    const connection = new AbortController();
    const signal = AbortSignal.any([aborter.signal, connection.signal]);
    let timer = 0;
    const heard = () => {
      clearTimeout(timer);
      timer = setTimeout(() => connection.abort(), SILENCE_SECONDS * 1000);
    };
    try {
      const response = await ask(path, {signal, cache: "no-store", headers: {Accept: "text/event-stream"}});
      onState("live");
      pause = 1;
      heard();
      for await (const data of eventData(response, heard)) {
        if (aborter.signal.aborted) return;
        takeEventSafely(onEvent, data);
      }
    } finally {
      clearTimeout(timer);
    }
  };
  const follow = async () => {
    while (!aborter.signal.aborted) {
      let refusal;
      try {
        await connect();
      } catch (error) {
        if (aborter.signal.aborted) return;
        if (error.status === 401) return onState("locked", {error});
        if (error.status) refusal = error;
      }
      if (aborter.signal.aborted) return;
      const seconds = Math.max(pause, refusal?.retrySeconds ?? 0);
      onState("waiting", {seconds, error: refusal});
      await wait(seconds * 1000);
      pause = Math.min(pause * 2, 15);
    }
  };
  follow();
  return {stop: () => aborter.abort()};
}
