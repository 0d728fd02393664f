// Elements that the views share. Texts are inserted as text nodes, never as markup.

export function h(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "style") for (const [property, setting] of Object.entries(value)) element.style.setProperty(property, setting);
    else element.setAttribute(key, value === true ? "" : String(value));
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

export const fill = (target, ...children) => target.replaceChildren(...h("p", {}, ...children).childNodes);

export const number = (value, digits = 3) =>
  (Math.abs(value) < 0.5 * 10 ** -digits ? 0 : value).toFixed(digits).replace("-", "\u2212");
export const signed = (value, digits = 3) => (value > 0 ? "+" : "") + number(value, digits);
export const percent = (value) => `${(100 * value).toFixed(1)}%`;
export const count = (value) => Number(value).toLocaleString("en");
export const enc = encodeURIComponent;
// without blanks at both ends; other white space differs between browsers and Python
export const trimmed = (text) => text.replace(/^[ \t\r\n]+|[ \t\r\n]+$/g, "");

// The model replaces all numbers by one term. The page shows a number as it is written in the text,
// or this placeholder if there is no text.
const NUMBER_TERM = "numbermask";
const NUMBER_PLACEHOLDER = "[number]";

export function termText(term, numbers = []) {
  const shown = numbers.length ? numbers.slice(0, 3).join(", ") + (numbers.length > 3 ? ", \u2026" : "") : NUMBER_PLACEHOLDER;
  return term.split(" ").map((word) => (word === NUMBER_TERM ? shown : word)).join(" ");
}

// the numbers in a text, without repetitions; words are [word, start, end, contribution]
export const numbersIn = (words) => [...new Set(words.map(([word]) => word).filter((word) => /^[0-9]/.test(word)))];

// a color per class with alternating lightness, so that neighbors can be distinguished
export function colorOf(column, nClasses) {
  const isDark = matchMedia("(prefers-color-scheme: dark)").matches;
  const lightness = (isDark ? [0.68, 0.84, 0.76] : [0.5, 0.66, 0.58])[column % 3];
  return `oklch(${lightness} 0.16 ${(25 + (360 * column) / nClasses) % 360})`;
}

export const classLink = (name, ...children) =>
  name === null ? h("em", {}, "no class") : h("a", { href: `#class/${enc(name)}` }, name, ...children);
export const wordLink = (term, numbers) => h("a", { href: `#word/${enc(term)}` }, termText(term, numbers));

// Names with a bar and a number each; rows are [content, value, shown]. A bar is green for positive
// and red for negative contributions. `kind` "neutral" or "wrong" gives all bars one color.
export function bars(rows, label, kind = null) {
  const largest = Math.max(...rows.map(([, value]) => Math.abs(value)), 1e-12);
  const kindOf = (value) => kind ?? (value < 0 ? "against" : "for");
  return h("ul", { class: "bars", "aria-label": label },
    rows.map(([content, value, shown]) => h("li", {},
      h("span", { class: "name" }, content),
      h("span", { class: "bar", "aria-hidden": "true" },
        h("i", { class: kindOf(value), style: { width: `${(100 * Math.abs(value)) / largest}%` } })),
      h("span", { class: "number" }, shown ?? number(value, 2)))));
}

const NUMBER = /^[+\u2212-]?[0-9][0-9.,]*( ?%| ?(s|ms|MB|kB))?$/;

// A table whose columns of numbers are aligned right and whose columns of texts are aligned left.
export function table(caption, heads, rows) {
  const isNumber = (cell) => typeof cell === "number" || cell === "" || cell === null || cell === "\u2013"
    || (typeof cell === "string" && NUMBER.test(cell));
  const isNumeric = heads.map((_, column) => column > 0 && rows.every((row) => isNumber(row[column])));
  const alignment = (column) => (isNumeric[column] ? "number" : null);
  return h("div", { class: "wide", tabindex: "0", role: "region", "aria-label": caption },
    h("table", {}, h("caption", {}, caption),
      h("thead", {}, h("tr", {}, heads.map((head, column) => h("th", { scope: "col", class: alignment(column) }, head)))),
      h("tbody", {}, rows.map(([first, ...cells]) => h("tr", {}, h("th", { scope: "row" }, first),
        cells.map((cell, k) => h("td", { class: alignment(k + 1) }, cell)))))));
}

// a text whose words are colored by their contributions; words are [word, start, end, contribution]
export function colored(text, words) {
  const letters = Array.from(text);
  const located = words.filter((word) => word[1] !== null);
  const strongest = Math.max(...located.map((word) => Math.abs(word[3])), 1e-12);
  const pieces = [];
  let position = 0;
  for (const [, start, end, contribution] of located) {
    const strength = Math.abs(contribution) / strongest;
    if (strength < 0.08 || start < position) continue;
    pieces.push(letters.slice(position, start).join(""));
    pieces.push(h("mark", {
      class: contribution > 0 ? "for" : "against", title: signed(contribution),
      style: { "--s": `${Math.round(10 + 38 * strength)}%` },
    }, letters.slice(start, end).join("")));
    position = end;
  }
  pieces.push(letters.slice(position).join(""));
  return pieces;
}

export function documentCard(document_, detail) {
  const isRight = document_.true.join() === document_.predicted.join();
  const verdict = isRight
    ? ["correctly predicted as ", listClasses(document_.predicted)]
    : [h("strong", { class: "error" }, "mistake: "), listClasses(document_.true), " predicted as ", listClasses(document_.predicted)];
  return h("article", { class: isRight ? "card" : "card mistake" },
    h("p", { class: "quiet" }, `Document ${document_.number}: `, verdict),
    detail,
    h("p", { class: "text" }, document_.text, document_.is_cut ? " \u2026" : ""),
    h("p", {}, h("a", { href: "#text", onclick: () => { state.text = document_.text; } }, "Try this text")));
}

const listClasses = (names) => (names.length ? names.map((name, k) => [k ? ", " : "", classLink(name)]) : "no class");

// the input of the first view, which is kept while other views are open; null: not changed yet
export const state = { text: null, label: null, against: null };

const MAX_MENU_OPTIONS = 60;

export function chooser(label, options, value, onchange, empty = null) {
  const id = `choose-${label.replace(/[^a-zA-Z]/g, "")}`;
  const listId = `${id}-list`;
  if (options.length <= MAX_MENU_OPTIONS) {
    return h("label", { class: "field" }, label, h("select", { id, onchange: (event) => onchange(event.target.value || null) },
      empty !== null && h("option", { value: "" }, empty),
      options.map((name) => h("option", { value: name, selected: name === value }, name))));
  }
  const known = new Set(options);
  return h("label", { class: "field" }, label,
    h("input", {
      id, list: listId, value: value ?? "", placeholder: empty ?? "Type a name", autocomplete: "off",
      onchange: (event) => {
        if (known.has(event.target.value)) onchange(event.target.value);
        else if (!event.target.value && empty !== null) onchange(null);
      },
    }),
    h("datalist", { id: listId }, options.map((name) => h("option", { value: name }))));
}
