"use strict";
// Elements of SVG, for what the charts draw around their curves and for the pictures to download. The page's policy forbids
// style attributes, so all looks are attributes of their own.

const SVG_SPACE = "http://www.w3.org/2000/svg";

// A place in pixels with at most two decimals, so that the pictures stay small.
const shortPlace = (value) => Number(value.toFixed(2));
const pathThrough = (points) => `M${points.map((point) => point.map(shortPlace).join(" ")).join("L")}`;

// An attribute that is null is left out.
function shape(name, attributes, ...children) {
  const element = document.createElementNS(SVG_SPACE, name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== null) element.setAttribute(key, typeof value === "number" ? shortPlace(value) : value);
  }
  element.append(...children);
  return element;
}

const line = (x1, y1, x2, y2, attributes) => shape("line", {x1, y1, x2, y2, ...attributes});
const stroke = (points, attributes) => shape("path", {d: pathThrough(points), fill: "none", ...attributes});
const words = (x, y, text, attributes = {}) => shape("text", {x, y, "dominant-baseline": "middle", ...attributes}, text);

const measuring = document.createElement("canvas").getContext("2d");

function textWidth(text, font) {
  measuring.font = font;
  return measuring.measureText(text).width;
}

// The text, at most `width` pixels wide. A longer one is cut in its middle, because the names of a sweep often differ only at
// the end.
function fittedText(text, width, font) {
  const letters = [...text];
  const withLetters = (count) => count >= letters.length ? text
    : `${letters.slice(0, Math.ceil(count / 2)).join("")}…${letters.slice(letters.length - Math.floor(count / 2)).join("")}`;
  let count = letters.length;
  while (count > 2 && textWidth(withLetters(count), font) > width) count -= 1;
  return withLetters(count);
}
