// What all views are made of. Every text goes into the page as text, never as markup.

export function h(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (key === "style") for (const [rule, to] of Object.entries(value)) made.style.setProperty(rule, to);
    else made.setAttribute(key, value === true ? "" : String(value));
  }
  made.append(...children.flat(Infinity).filter((each) => each !== null && each !== undefined && each !== false));
  return made;
}

export const fill = (target, ...children) => target.replaceChildren(...h("p", {}, ...children).childNodes);

export const number = (value, digits = 3) =>
  (Math.abs(value) < 0.5 * 10 ** -digits ? 0 : value).toFixed(digits).replace("-", "\u2212");
export const signed = (value, digits = 3) => (value > 0 ? "+" : "") + number(value, digits);
export const percent = (value) => `${(100 * value).toFixed(1)}%`;
export const count = (value) => Number(value).toLocaleString("en");
export const enc = encodeURIComponent;
// without blanks at the ends; what else is white space differs between browsers and Python
export const trimmed = (text) => text.replace(/^[ \t\r\n]+|[ \t\r\n]+$/g, "");

// a hue per class, neighbors in the list far apart in lightness
export function colorOf(column, nClasses) {
  const isDark = matchMedia("(prefers-color-scheme: dark)").matches;
  const level = (isDark ? [0.68, 0.84, 0.76] : [0.5, 0.66, 0.58])[column % 3];
  return `oklch(${level} 0.16 ${(25 + (360 * column) / nClasses) % 360})`;
}

export const classLink = (name, ...more) =>
  name === null ? h("em", {}, "no class") : h("a", { href: `#class/${enc(name)}` }, name, ...more);
export const wordLink = (word) => h("a", { href: `#word/${enc(word)}` }, word);

// names with a bar and a number each; rows are [content, value, shown]
export function bars(rows, label) {
  const largest = Math.max(...rows.map(([, value]) => Math.abs(value)), 1e-12);
  return h("ul", { class: "bars", "aria-label": label },
    rows.map(([content, value, shown]) => h("li", {},
      h("span", { class: "name" }, content),
      h("span", { class: "bar", "aria-hidden": "true" },
        h("i", { class: value < 0 ? "against" : "for", style: { width: `${(100 * Math.abs(value)) / largest}%` } })),
      h("span", { class: "number" }, shown ?? number(value, 2)))));
}

export function table(caption, heads, rows) {
  return h("div", { class: "wide", tabindex: "0", role: "region", "aria-label": caption },
    h("table", {}, h("caption", {}, caption),
      h("thead", {}, h("tr", {}, heads.map((head) => h("th", { scope: "col" }, head)))),
      h("tbody", {}, rows.map(([first, ...rest]) =>
        h("tr", {}, h("th", { scope: "row" }, first), rest.map((cell) => h("td", {}, cell)))))));
}

// a text whose words are colored by what they add; words are [word, start, end, added]
export function colored(text, words) {
  const letters = Array.from(text);
  const placed = words.filter((word) => word[1] !== null);
  const strongest = Math.max(...placed.map((word) => Math.abs(word[3])), 1e-12);
  const parts = [];
  let place = 0;
  for (const [, start, end, added] of placed) {
    const strength = Math.abs(added) / strongest;
    if (strength < 0.08 || start < place) continue;
    parts.push(letters.slice(place, start).join(""));
    parts.push(h("mark", {
      class: added > 0 ? "for" : "against", title: signed(added),
      style: { "--s": `${Math.round(10 + 38 * strength)}%` },
    }, letters.slice(start, end).join("")));
    place = end;
  }
  parts.push(letters.slice(place).join(""));
  return parts;
}

export function documentCard(document_, extra) {
  const isRight = document_.true.join() === document_.predicted.join();
  return h("article", { class: "card" },
    h("p", { class: "quiet" }, `Document ${document_.number}: `,
      isRight ? ["rightly ", list(document_.true)] : [list(document_.true), " taken for ", list(document_.predicted)]),
    extra,
    h("p", { class: "text" }, document_.text, document_.is_cut ? " \u2026" : ""),
    h("p", {}, h("a", { href: "#text", onclick: () => { kept.text = document_.text; } }, "Try this text")));
}

const list = (names) => (names.length ? names.map((name, k) => [k ? ", " : "", classLink(name)]) : "no class");

// what is typed into the first view stays while others are looked at
export const kept = { text: "", label: null, against: null };

export function chooser(label, options, value, onchange, empty = null) {
  const id = `choose-${label.replace(/\W/g, "")}`;
  const listId = `${id}-list`;
  if (options.length <= 60) {
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
