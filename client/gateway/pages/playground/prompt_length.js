"use strict";
// The number of tokens in the prompt (POST /tokenize), and how many the model's context leaves for the text.

const promptLength = {key: "", count: null, asked: 0, timer: 0};

const promptKey = () => `${settings.model}\n${settings.prompt}`;
const contextLength = () => entryOf(settings.model)?.max_model_len ?? groupContext();

// The context length for a checkpoint that no longer exists: all checkpoints of a run have the same.
function groupContext() {
  const group = groupOf(settings.model);
  return group ? modelList.byId.get(newestOf(group))?.max_model_len : undefined;
}

// The number of tokens to request: the chosen length, or the rest of the context if that is less.
function tokensThatFit() {
  const known = promptLength.key === promptKey() && isNumber(promptLength.count) && isNumber(contextLength());
  const left = known ? contextLength() - promptLength.count : Infinity;
  return left >= 1 ? Math.min(settings.max_tokens, left) : settings.max_tokens;
}

// Whether the prompt leaves no room for another token, so that the gateway would refuse it.
function isPromptTooLong() {
  const {count, key} = promptLength;
  return isNumber(count) && key === promptKey() && contextLength() - count < 1;
}

function promptWords() {
  const {count, key} = promptLength;
  if (!isNumber(count) || key !== promptKey()) return "";
  const tokens = `${grouped(count)} token${count === 1 ? "" : "s"}`;
  const left = contextLength() - count;
  if (left < 1) return `${tokens}, ${grouped(1 - left)} too many: prompt and text share a context of ${grouped(contextLength())}`;
  if (left >= settings.max_tokens) return tokens;
  return `${tokens}; the context of ${grouped(contextLength())} leaves ${grouped(left)} to write`;
}

// The message for a chosen model that does not exist; empty if it exists or none is chosen.
function noModelText() {
  return settings.model && !groupOf(settings.model) ? `There is no model '${settings.model}'.` : "";
}

function showPromptLength() {
  const isTooLong = isPromptTooLong();
  const words = promptWords();
  if ($("#prompt-count").textContent !== words) $("#prompt-count").textContent = words;
  $("#prompt-count").classList.toggle("over", isTooLong);
  const refusal = noModelText() || (isTooLong ? `The prompt is too long: ${words}` : "");
  $("#generate").disabled = Boolean(refusal);
  $("#generate").title = refusal;
}

// Requests the token count of the current prompt, unless it is known.
async function countPromptNow() {
  clearTimeout(promptLength.timer);
  const key = promptKey();
  if (promptLength.key === key || noModelText()) return;
  const number = ++promptLength.asked;
  let count = null;
  try {
    const body = JSON.stringify({model: settings.model, prompt: settings.prompt, parse_special: false});
    count = (await askJson("tokenize", {method: "POST", headers: {"Content-Type": "application/json"}, body})).count;
  } catch {
    // Ignored: the count is optional, and generating a text will report the error.
  }
  if (number !== promptLength.asked) return;
  Object.assign(promptLength, {key: isNumber(count) ? key : "", count});
  showPromptLength();
}

// Counts the prompt's tokens a moment after the last keystroke.
function countPrompt() {
  clearTimeout(promptLength.timer);
  showPromptLength();
  promptLength.timer = setTimeout(countPromptNow, 350);
}
