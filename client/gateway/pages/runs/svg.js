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

// The text, cut with an ellipsis so that it is at most `width` pixels wide.
function fittedText(text, width, font) {
  if (textWidth(text, font) <= width) return text;
  let length = text.length;
  while (length > 1 && textWidth(`${text.slice(0, length)}…`, font) > width) length -= 1;
  return `${text.slice(0, length)}…`;
}
