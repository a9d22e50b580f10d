"use strict";
// The theme of the system unless the button chose one; the choice stays in this browser.
const THEMES = ["system", "light", "dark"];

function storedTheme() {
  try {
    return localStorage.getItem("gp-theme") || "system";
  } catch {
    return "system";  // a browser that keeps nothing
  }
}

function applyTheme(theme) {
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  document.dispatchEvent(new Event("gp-theme"));
}

function storeTheme(theme) {
  try {
    localStorage.setItem("gp-theme", theme);
  } catch {
    // The page still changes, it only does not remember.
  }
  applyTheme(theme);
}

// The button goes from one theme to the next and says which one is on.
function startThemeButton(button) {
  const show = () => {
    const theme = storedTheme();
    button.setAttribute("aria-label", `Theme: ${theme}. Change it`);
    button.title = `Theme: ${theme}`;
    for (const picture of button.querySelectorAll("[data-picture]")) {
      picture.toggleAttribute("hidden", picture.dataset.picture !== theme);
    }
  };
  button.addEventListener("click", () => {
    storeTheme(THEMES[(THEMES.indexOf(storedTheme()) + 1) % THEMES.length]);
    show();
  });
  show();
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => applyTheme(storedTheme()));
applyTheme(storedTheme());
