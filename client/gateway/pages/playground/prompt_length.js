"use strict";
// The number of tokens in the prompt (POST /tokenize), and how many the model's context leaves for the text.

const promptLength = {key: "", count: null, asked: 0, timer: 0};

const promptKey = () => `${settings.model}\n${settings.prompt}`;
const contextLength = () => entryOf(settings.model)?.max_model_len ?? groupContext();

// A checkpoint that is gone had the same context as the others of its run.
function groupContext() {
  const group = groupOf(settings.model);
  return group ? modelList.byId.get(newestOf(group))?.max_model_len : undefined;
}

// The length that was asked for, or what is left of the context.
function tokensThatFit() {
  const known = promptLength.key === promptKey() && isNumber(promptLength.count) && isNumber(contextLength());
  const left = known ? contextLength() - promptLength.count : Infinity;
  return left >= 1 ? Math.min(settings.max_tokens, left) : settings.max_tokens;
}

// The gateway refuses a prompt that leaves nothing to write.
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

// Nothing when the model is one, or when nobody has asked for one yet.
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

// Asks for the count of the prompt as it is now, unless it is known.
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
    // A count is nice to have; what is wrong is said when a text is asked for.
  }
  if (number !== promptLength.asked) return;
  Object.assign(promptLength, {key: isNumber(count) ? key : "", count});
  showPromptLength();
}

// A moment after the last key.
function countPrompt() {
  clearTimeout(promptLength.timer);
  showPromptLength();
  promptLength.timer = setTimeout(countPromptNow, 350);
}
