"use strict";
// The page's theme: the system's, unless the user chose another one with the button. The choice is kept in localStorage.
const THEMES = ["system", "light", "dark"];

function storedTheme() {
  try {
    return localStorage.getItem("gp-theme") || "system";
  } catch {
    return "system";  // localStorage is not available
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
    // localStorage is not available: the theme changes, but is not kept.
  }
  applyTheme(theme);
}

// The button switches to the next theme; its label names the current one.
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
