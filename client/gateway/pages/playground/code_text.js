"use strict";
// The request that the page would send: as the body of POST /v1/completions, and for the code dialog as a curl command and
// as Python.

// The body of POST /v1/completions for one model.
function requestBody(model) {
  const body = {model, prompt: settings.prompt};
  for (const {name} of SLIDERS) body[name] = settings[name];
  body.max_tokens = tokensThatFit();
  body.seed = settings.seed;
  const stop = stopStrings();
  if (stop.length > 0) body.stop = stop;
  return body;
}

const shellQuoted = (text) => `'${text.replaceAll("'", `'\\''`)}'`;

function curlText(model) {
  const address = shellQuoted(gatewayAddress("v1/completions"));
  const lines = [`curl -sS ${address}`, `  -H 'Content-Type: application/json'`];
  if (apiKey) lines.push(`  -H "Authorization: Bearer $GP_API_KEY"`);
  lines.push(`  -d ${shellQuoted(JSON.stringify(requestBody(model), null, 1))}`);
  return lines.join(" \\\n");
}

// The JSON of these values (strings, numbers, lists of strings) is also valid Python. JSON.stringify does not escape
// characters above U+FFFF as surrogate pairs, which Python would not join.
const pythonValue = (value) => JSON.stringify(value);

function pythonText(model) {
  const extensions = ["top_k", "min_p"];
  const body = requestBody(model);
  const own = Object.entries(body).filter(([name]) => !extensions.includes(name));
  const extra = extensions.map((name) => `"${name}": ${pythonValue(body[name])}`).join(", ");
  const key = apiKey ? `os.environ["GP_API_KEY"]` : `"none"`;
  return [
    ...(apiKey ? ["import os", ""] : []),
    "from openai import OpenAI  # pip install openai",
    "",
    `client = OpenAI(base_url=${pythonValue(gatewayAddress("v1"))}, api_key=${key})`,
    "completion = client.completions.create(",
    ...own.map(([name, value]) => `    ${name}=${pythonValue(value)},`),
    `    extra_body={${extra}},`,
    ")",
    "for choice in completion.choices:",
    "    print(choice.text)",
  ].join("\n");
}

let codeLanguage = "curl";
function showCode(language, model) {
  codeLanguage = language;
  $("#code-text").textContent = language === "curl" ? curlText(model) : pythonText(model);
  $("#code-text").setAttribute("aria-labelledby", `tab-${language}`);
  for (const tab of document.querySelectorAll("#code-dialog [role=tab]")) {
    const chosen = tab.id === `tab-${language}`;
    tab.setAttribute("aria-selected", String(chosen));
    tab.tabIndex = chosen ? 0 : -1;
  }
  $("#code-note").textContent = apiKey ? "Put your API key into the variable GP_API_KEY first." : "";
  $("#code-copy").replaceChildren(picture("copy"), language === "curl" ? "Copy curl" : "Copy Python");
}

function startCodeDialog(chosenModel) {
  const dialog = $("#code-dialog");
  $("#code-button").addEventListener("click", () => {
    showCode(codeLanguage, chosenModel());
    dialog.showModal();
  });
  $("#code-close").addEventListener("click", () => dialog.close());
  for (const language of ["curl", "python"]) {
    const other = language === "curl" ? "python" : "curl";
    $(`#tab-${language}`).addEventListener("click", () => showCode(language, chosenModel()));
    $(`#tab-${language}`).addEventListener("keydown", (event) => {
      if (event.key !== "ArrowRight" && event.key !== "ArrowLeft") return;
      showCode(other, chosenModel());
      $(`#tab-${other}`).focus();
    });
  }
  $("#code-copy").addEventListener("click", () => {
    copyText($("#code-text").textContent, codeLanguage === "curl" ? "curl command" : "Python code");
  });
}
