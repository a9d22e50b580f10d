// The body of a function that returns the beginning of the markup of every control without a name for screen readers.
const CONTROLS = "a, button, input, select, textarea, summary, [tabindex='0'], [role=tab], progress, dialog, nav";

function textOf(ids) {
  return ids.split(" ").map((id) => document.getElementById(id)?.textContent || "").join("");
}

function isNamed(element) {
  const labels = [...(element.labels || [])].map((label) => label.textContent).join("");
  const content = element.matches("button, a, summary, [role=tab]") ? element.textContent : "";
  const named = textOf(element.getAttribute("aria-labelledby") || "") + (element.getAttribute("aria-label") || "");
  return (named + labels + content).trim() !== "";
}

return [...document.querySelectorAll(CONTROLS)]
  .filter((element) => element.checkVisibility() && !element.closest("[aria-hidden=true]") && !isNamed(element))
  .map((element) => element.outerHTML.slice(0, 160));
