// The body of a function that returns the texts whose contrast with their background is below 4.5, or 3 for large text
// (WCAG AA).
const pen = Object.assign(document.createElement("canvas"), {width: 1, height: 1}).getContext("2d", {willReadFrequently: true});
const UNSEEN = "[aria-hidden=true], :disabled, svg, .visually-hidden, .skip";

// A CSS colour in any notation as [red, green, blue, alpha], each from 0 to 255.
function channels(colour) {
  pen.clearRect(0, 0, 1, 1);
  pen.fillStyle = colour;
  pen.fillRect(0, 0, 1, 1);
  return [...pen.getImageData(0, 0, 1, 1).data];
}

function blend(top, below) {
  const share = top[3] / 255;
  return [0, 1, 2].map((i) => top[i] * share + below[i] * (1 - share)).concat(255);
}

function backgroundOf(element) {
  const layers = [];
  for (let at = element; at; at = at.parentElement) layers.unshift(channels(getComputedStyle(at).backgroundColor));
  return layers.reduce((below, top) => blend(top, below), [255, 255, 255, 255]);
}

function luminance(colour) {
  const linear = colour.slice(0, 3).map((value) => value / 255)
    .map((value) => value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
  return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
}

function contrastOf(element) {
  const back = backgroundOf(element);
  const front = blend(channels(getComputedStyle(element).color), back);
  const [low, high] = [luminance(front), luminance(back)].sort((one, other) => one - other);
  return (high + 0.05) / (low + 0.05);
}

function isLarge({fontSize, fontWeight}) {
  return parseFloat(fontSize) >= 24 || (parseFloat(fontSize) >= 18.66 && fontWeight >= 700);
}

const showsText = (element) => [...element.childNodes].some((child) => child.nodeType === 3 && child.data.trim());

const found = new Set();
for (const element of document.body.querySelectorAll("*")) {
  if (!showsText(element) || !element.checkVisibility({visibilityProperty: true}) || element.closest(UNSEEN)) continue;
  const ratio = contrastOf(element);
  if (ratio >= (isLarge(getComputedStyle(element)) ? 3 : 4.5)) continue;
  found.add(`${ratio.toFixed(2)} ${element.tagName}.${element.className} "${element.textContent.trim().slice(0, 40)}"`);
}
return [...found];
