// The views: each asks the source, and returns what is shown.
import { bars, chooser, classLink, colored, colorOf, count, documentCard, enc, fill, h, kept, number, percent, signed, table, trimmed, wordLink } from "./parts.js";
import { Plot } from "./plot.js";

const go = (...path) => { location.hash = path.map((each) => enc(each)).join("/"); };
const section = (title, lead, ...rest) => [h("h1", {}, title), lead && h("p", { class: "lead" }, lead), ...rest];

// --- try a text --------------------------------------------------------------------------------

export function textView(source) {
  const { classes, has_probabilities: hasShares, is_sum: isSum } = source.facts;
  const labels = h("div", {});
  const why = h("div", {});
  const box = h("textarea", { id: "text", rows: "6", spellcheck: "false", placeholder: "Type or paste a text", oninput: () => wait() });
  box.value = kept.text;
  let timer = 0;
  let asked = 0;
  const wait = () => { clearTimeout(timer); timer = setTimeout(update, 120); };

  async function update() {
    kept.text = box.value;
    asked += 1;
    const mine = asked;
    try {
      const found = await source.predict(kept.text, 8);
      const explained = await source.explain(kept.text, kept.label, kept.against);
      if (mine !== asked) return; // another letter was typed meanwhile
      show(found, explained);
    } catch (error) {
      labels.replaceChildren(h("p", { role: "alert" }, error.message));
      why.replaceChildren();
    }
  }

  function show(found, explained) {
    const given = new Set(explained.predicted.map(String));
    fill(labels,
      h("p", { role: "status", id: "said" }, given.size ? ["Predicted: ", h("strong", {}, [...given].join(", "))] : "No class is predicted."),
      bars(found.map((each) => [
        h("button", {
          type: "button", class: "link", "aria-pressed": String(explained.label) === String(each.label),
          onclick: () => { kept.label = String(each.label); update(); },
        }, String(each.label), given.has(String(each.label)) ? " \u2713" : ""),
        hasShares ? each.probability : each.score,
        hasShares ? percent(each.probability) : number(each.score),
      ]), hasShares ? "Probabilities" : "Scores"));
    fill(why,
      h("div", { class: "fields" },
        chooser("Why, or why not, this class?", classes, String(explained.label), (name) => { kept.label = name; update(); }, "The predicted one"),
        chooser("Against this class", classes, kept.against, (name) => { kept.against = name; update(); }, "None")),
      h("p", { class: "text", id: "colored" }, kept.text ? colored(kept.text, explained.words) : "Nothing is typed."),
      explained.missing?.length ? h("p", { class: "note", id: "missing" },
        source.data.model.has_all ? "Unknown to the model: " : "Unknown to the model, or not among the terms in this file: ",
        explained.missing.slice(0, 20).join(", "), explained.missing.length > 20 ? ", \u2026" : "") : null,
      source.model && !source.data.model.has_all ? h("p", { class: "quiet", id: "carried" },
        `This file carries ${count(source.model.nCarried)} of the model's ${count(source.data.model.n_terms)} terms; with others in a text, its scores differ.`) : null,
      h("p", { class: "sum", id: "sum" },
        explained.against ? `${explained.label} less ${explained.against}: ` : `Score of ${explained.label}: `,
        h("strong", {}, number(explained.score)), ` = ${number(explained.intercept)} without any word `,
        explained.sum < 0 ? "\u2212 " : "+ ", `${number(Math.abs(explained.sum))} of the words`,
        isSum ? "." : " (how much the score falls without each; a network is no sum, and the rest is in the first number)."),
      h("h2", {}, "What each term adds"),
      bars(explained.terms.slice(0, 20).map(([term, added]) => [wordLink(term), added, signed(added)]), "What each term adds"));
  }

  update();
  return section("Try a text", "Labels as you type. Words are colored by what they add to the score of the chosen class, green for it and red against it.",
    h("label", { class: "field" }, "Text", box), h("div", { class: "pair" }, h("section", { "aria-label": "Labels" }, labels), h("section", { "aria-label": "Reasons" }, why)));
}

// --- a class -----------------------------------------------------------------------------------

export async function classView(source, name) {
  const { classes } = source.facts;
  const chosen = name ?? classes[0];
  const found = await source.class(chosen);
  const { scores } = found;
  const figures = scores ? [["documents", count(scores.n_true)], ["predicted", count(scores.n_predicted)], ["precision", percent(scores.precision)],
    ["recall", percent(scores.recall)], ["F1", percent(scores.f1)]] : [];
  const confusions = (title, rows, link) => rows?.length ? h("section", {}, h("h2", {}, title),
    bars(rows.map(([other, n]) => [h("a", { href: link(other) }, other ?? "no class"), n, count(n)]), title)) : null;
  const cell = (from, to) => `#mistakes/${enc(from ?? "")}/${enc(to ?? "")}`;
  return section(chosen, null,
    h("div", { class: "fields" }, chooser("Class", classes, chosen, (each) => each && go("class", each)),
      h("a", { href: `#rest/${enc(chosen)}` }, "Against the rest")),
    figures.length ? h("dl", { class: "numbers" }, figures.map(([term, value]) => h("div", {}, h("dt", {}, term), h("dd", {}, value)))) : null,
    h("div", { class: "pair" },
      h("section", {}, h("h2", {}, "Most telling terms"), bars(found.terms.map(([term, value]) => [wordLink(term), value]), "Most telling terms")),
      h("section", {},
        confusions("Taken for", found.taken_for, (other) => cell(chosen, other)),
        confusions("Others taken for it", found.takes, (other) => cell(other, chosen)),
        found.against.length ? [h("h2", {}, "Terms against it"), bars(found.against.map(([term, value]) => [wordLink(term), value]), "Terms against it")] : null)),
    found.typical?.length ? [h("h2", {}, "Most typical documents"), h("div", { class: "cards" }, found.typical.map((each) => documentCard(each)))] : null,
    found.doubtful?.length ? [h("h2", {}, "Most doubtful documents"), h("div", { class: "cards" }, found.doubtful.map((each) => documentCard(each)))] : null);
}

// --- a word ------------------------------------------------------------------------------------

export async function wordView(source, word) {
  const field = h("input", { id: "word", type: "search", value: word ?? "", autocomplete: "off", spellcheck: "false" });
  const form = h("form", { class: "fields", onsubmit: (event) => { event.preventDefault(); if (trimmed(field.value)) go("word", trimmed(field.value)); } },
    h("label", { class: "field" }, "Word", field), h("button", { type: "submit" }, "Look up"));
  if (!word) return section("A word", "What a word says of the classes, the words that are like it, and the documents it is in.", form);
  let found;
  try {
    found = await source.word(word);
  } catch (error) {
    return section(word, null, form, h("p", { role: "alert" }, error.message));
  }
  const near = (title, rows, told) => h("section", {}, h("h2", {}, title), h("p", { class: "quiet" }, told),
    rows.length ? h("ol", { class: "words" }, rows.map(([other, cosine]) => h("li", {}, wordLink(other), cosine === null ? "" : h("span", { class: "number" }, ` ${number(cosine, 2)}`))))
      : h("p", {}, "None."));
  const profile = found.profile;
  const [first, last] = [profile.slice(0, 20), profile.slice(20).slice(-8)];
  return section(found.term, found.is_known ? null : "The model does not know this word.", form,
    profile.length ? h("section", {}, h("h2", {}, "What it says of the classes"),
      bars(first.map(([name, value]) => [classLink(name), value, signed(value)]), "Profile"),
      last.length ? [h("p", { class: "quiet" }, `${count(profile.length - first.length - last.length)} classes between these.`),
        bars(last.map(([name, value]) => [classLink(name), value, signed(value)]), "Classes it speaks against")] : null) : null,
    h("div", { class: "pair" },
      near("Nearest by the classes", found.nearest, "Words that say the same of the classes"),
      near("Nearest without the classes", found.nearest_by_vectors, found.source ?? "There are no vectors to compare with; --vectors or --data brings them.")),
    found.n_docs !== undefined ? h("section", {}, h("h2", {}, `Documents (${count(found.n_docs)}${found.is_part ? " of those in this file" : ""})`),
      h("div", { class: "cards" }, found.documents.slice(0, 12).map((each) => documentCard(each)))) : null);
}

// --- mistakes ----------------------------------------------------------------------------------

const MOST = 24; // classes of a table that can be read

export async function mistakesView(source, from, to) {
  const { classes, measures } = source.facts;
  const found = await source.mistakes();
  const nameOf = (column) => (column < 0 ? null : classes[column]);
  const chosen = from === undefined ? null : [from || null, to || null];
  const weight = new Array(classes.length).fill(0);
  for (const [i, j, n] of found.cells) { if (i >= 0) weight[i] += n; if (j >= 0) weight[j] += n; }
  const columns = [...classes.keys()].sort((a, b) => weight[b] - weight[a] || a - b).slice(0, MOST).sort((a, b) => a - b);
  const hasNone = found.cells.some(([i, j]) => i < 0 || j < 0);
  const all = hasNone ? [...columns, -1] : columns;
  const counts = new Map(found.cells.map(([i, j, n]) => [`${i},${j}`, n]));
  columns.forEach((j) => counts.set(`${j},${j}`, found.right[j]));
  const most = Math.max(1, ...found.cells.map(([, , n]) => n));
  const href = (i, j) => `#mistakes/${enc(nameOf(i) ?? "")}/${enc(nameOf(j) ?? "")}`;
  const cellOf = (i, j) => {
    const n = counts.get(`${i},${j}`);
    if (!n) return h("td", {}, "");
    const isRight = i === j;
    const told = isRight ? `${n} documents of ${nameOf(i)} are right` : `${n} documents of ${nameOf(i) ?? "no class"} taken for ${nameOf(j) ?? "no class"}`;
    return h("td", { class: isRight ? "right" : "wrong", style: { "--s": `${Math.round(8 + 40 * Math.sqrt(n / most))}%` } },
      h("a", { href: href(i, j), "aria-label": told, title: told, "aria-current": chosen && chosen[0] === nameOf(i) && chosen[1] === nameOf(j) ? "true" : null }, count(n)));
  };
  const detail = h("div", { id: "cell" });
  if (chosen) detail.append(...(await cellDetail(source, ...chosen)));
  return section("Mistakes", `${count(found.n_mistaken)} of ${count(found.n_docs)} documents are not exactly right: macro F1 ${percent(measures.macro_f1)}, accuracy ${percent(measures.accuracy)}.`,
    h("h2", {}, "Most frequent"),
    bars(found.cells.slice(0, 10).map(([i, j, n]) => [h("a", { href: href(i, j) }, `${nameOf(i) ?? "no class"} \u2192 ${nameOf(j) ?? "no class"}`), n, count(n)]), "Most frequent mistakes"),
    h("h2", {}, "Which class is taken for which"),
    classes.length > MOST ? h("p", { class: "quiet" }, `The ${MOST} classes with most mistakes, of ${count(classes.length)}.`) : null,
    h("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Table of mistakes" },
      h("table", { class: "confusion" }, h("caption", {}, "Rows are the true classes, columns the predicted ones"),
        h("thead", {}, h("tr", {}, h("td", {}), all.map((j) => h("th", { scope: "col" }, h("span", {}, nameOf(j) ?? "no class"))))),
        h("tbody", {}, all.map((i) => h("tr", {}, h("th", { scope: "row" }, nameOf(i) ?? "no class"), all.map((j) => cellOf(i, j))))))),
    detail);
}

async function cellDetail(source, from, to) {
  const title = from === to ? `${from}, rightly` : `${from ?? "No class"} taken for ${to ?? "no class"}`;
  let found;
  try {
    found = await source.cell(from, to);
  } catch (error) {
    return [h("h2", { id: "opened" }, title), h("p", { role: "alert" }, error.message)];
  }
  const intro = [h("h2", { id: "opened", tabindex: "-1" }, title), h("p", {}, `${count(found.n_docs)} documents.`)];
  const cards = h("div", { class: "cards" }, found.documents.map((each) => documentCard(each,
    each.words.length ? h("p", {}, h("strong", {}, "Tipped by: "), each.words.map(([word, added], k) => [k ? ", " : "", wordLink(word), ` ${signed(added, 2)}`])) : null)));
  if (from === to || !found.n_docs) return [...intro, cards];
  return [...intro,
    h("p", { id: "total" }, `Over ${found.n_summed < found.n_docs ? `the first ${count(found.n_summed)} of ` : ""}these documents the score of ${to ?? "no class"} is above that of ${from ?? "no class"} by `,
      h("strong", {}, number(found.total, 2)), ` in all: ${number(found.constant, 2)} without any word, `,
      `${number(found.total - found.constant, 2)} by words. These did most:`),
    table("Words that cause it, summed over the documents", ["word", "adds", "documents"],
      found.words.map(([word, added, n]) => [wordLink(word), signed(added), count(n)])),
    h("p", { class: "quiet" }, `All other words: ${signed(found.rest)}.`), cards];
}

// --- the map -----------------------------------------------------------------------------------

export async function mapView(source, name) {
  const waiting = document.getElementById("main");
  waiting.replaceChildren(h("h1", {}, "The map"), h("p", { role: "status" }, "The map is being made; for 5,000 terms this takes some seconds."));
  const map = await source.map();
  const { classes } = source.facts;
  const colors = classes.map((_, j) => colorOf(j, classes.length));
  let chosen = name ? classes.indexOf(name) : -1;
  let found = new Set();
  let panel = Math.min(1, map.panels.length - 1);
  const said = h("output", { id: "said", for: "find" }, "Point at a term, search for one, or choose a class.");
  const pointsOf = (k) => map.panels[k].places.map(([x, y]) => ({ x, y }));
  const profileOf = (k) => (map.profiles.length ? map.profiles[k].map(([j, value]) => [classes[j], value])
    : source.model?.profile(map.terms[k])?.sort((a, b) => b[1] - a[1]).slice(0, 5) ?? []);
  const tell = (k) => {
    const rows = profileOf(k).map(([each, value]) => `${each} ${signed(value, 2)}`);
    said.textContent = `${map.terms[k]}: ${rows.length ? rows.join(", ") : classes[map.class_of[k]]}`;
  };
  const plot = new Plot({
    points: pointsOf(panel), label: `Map of ${map.terms.length} terms`, name: (k) => map.terms[k],
    look: (k) => ({
      color: colors[map.class_of[k]], size: found.has(k) ? 6 : 3,
      isOn: found.size ? found.has(k) : chosen < 0 || map.class_of[k] === chosen,
    }),
    onpoint: (k) => { if (k >= 0) tell(k); }, onchoose: (k) => tell(k),
  });
  const results = h("ul", { class: "words", id: "found" });
  const search = (event) => {
    const typed = trimmed(event.target.value);
    const isBegun = (term) => term.startsWith(typed) || term.startsWith(typed.toLowerCase());
    const rows = typed ? [...map.terms.keys()].filter((k) => isBegun(map.terms[k])) : [];
    const wanted = rows.some((k) => map.terms[k].startsWith(typed)) ? typed : typed.toLowerCase();
    const exact = rows.filter((k) => map.terms[k] === wanted);
    found = new Set(rows);
    if (exact.length) { plot.show(exact[0]); tell(exact[0]); } else if (wanted) {
      said.textContent = rows.length ? `${rows.length} terms begin with "${wanted}".` : `No term on the map begins with "${wanted}".`;
    }
    results.replaceChildren(...rows.slice(0, 30).map((k) => h("li", {}, wordLink(map.terms[k]), ` (${classes[map.class_of[k]]})`)));
    plot.draw();
  };
  const chips = h("div", { class: "chips", role: "group", "aria-label": "Classes" });
  const choose = (j) => {
    chosen = chosen === j ? -1 : j;
    [...chips.children].forEach((chip) => chip.setAttribute("aria-pressed", String(Number(chip.dataset.column) === chosen)));
    if (chosen >= 0) {
      const mine = [...map.terms.keys()].filter((k) => map.class_of[k] === chosen);
      said.textContent = `${classes[chosen]}: ${mine.slice(0, 10).map((k) => map.terms[k]).join(", ")}`;
    }
    plot.draw();
  };
  const onMap = [...new Set(map.class_of)].sort((a, b) => a - b);
  if (onMap.length <= 60) {
    chips.append(...onMap.map((j) => h("button", { type: "button", "data-column": j, "aria-pressed": String(j === chosen), onclick: () => choose(j) },
      h("i", { "aria-hidden": "true", style: { background: colors[j] } }), classes[j])));
  }
  const panels = map.panels.length > 1 ? h("div", { class: "chips", role: "group", "aria-label": "Panels" }, map.panels.map((each, k) =>
    h("button", { type: "button", title: each.caption, "aria-pressed": String(k === panel), onclick: (event) => {
      panel = k;
      [...event.currentTarget.parentNode.children].forEach((other, l) => other.setAttribute("aria-pressed", String(l === k)));
      plot.points = pointsOf(k);
      plot.draw();
    } }, `${each.title} (${Math.round(100 * each.neighbor_share)}%)`))) : null;
  return section("The map", `The ${count(map.terms.length)} most telling terms, placed by t-SNE so that terms that say the same of the classes are near each other. `
    + `Of a term's ten nearest neighbors, ${Math.round(100 * map.panels[panel].neighbor_share)}% were chosen for the same class.`,
    panels,
    h("div", { class: "fields" },
      h("label", { class: "field" }, "Find a term", h("input", { id: "find", type: "search", autocomplete: "off", spellcheck: "false", oninput: search })),
      onMap.length > 60 ? chooser("Only this class", classes, chosen < 0 ? null : classes[chosen], (each) => { chosen = each ? classes.indexOf(each) : -1; plot.draw(); }, "All classes") : null),
    said, plot.element, results, chips.children.length ? chips : null);
}

// --- a class against the rest ------------------------------------------------------------------

export async function restView(source, name) {
  const { classes } = source.facts;
  const chosen = name ?? classes[0];
  const found = await source.against(chosen);
  const ranks = (values) => { // of equal ones the same: frequencies are crowded at the low end
    const order = [...new Set(values)].sort((a, b) => a - b);
    const at = new Map(order.map((value, k) => [value, order.length > 1 ? k / (order.length - 1) : 0.5]));
    return values.map((value) => at.get(value));
  };
  const most = Math.max(...found.telling.map(Math.abs), 1e-12);
  const across = ranks(found.outside);
  const upward = found.has_sides ? ranks(found.inside) : found.telling.map((value) => 0.5 + value / (2 * most));
  const style = getComputedStyle(document.documentElement);
  const [green, red] = ["--for", "--against"].map((each) => style.getPropertyValue(each));
  const said = h("output", {}, "Point at a term.");
  const tell = (k) => {
    const where = found.has_sides ? `in ${percent(found.inside[k])} of the documents of ${chosen}, and in ${percent(found.outside[k])} of the others` : `in ${percent(found.inside[k])} of the training documents`;
    said.textContent = `${found.terms[k]}: ${signed(found.telling[k])} for ${chosen}; ${where}`;
  };
  const plot = new Plot({
    points: across.map((x, k) => ({ x, y: upward[k] })), label: `${chosen} against the rest: ${found.terms.length} terms`, name: (k) => found.terms[k],
    look: (k) => ({ color: found.telling[k] > 0 ? green : red, size: 2 + (4 * Math.abs(found.telling[k])) / most }),
    onpoint: (k) => { if (k >= 0) tell(k); }, onchoose: (k) => tell(k),
    axes: found.has_sides ? { x: "frequent in the others \u2192", y: `\u2191 frequent in ${chosen}` } : { x: "frequent \u2192", y: `\u2191 telling for ${chosen}` },
  });
  const rows = (sign) => found.terms.map((term, k) => [term, k]).filter(([, k]) => sign * found.telling[k] > 0)
    .sort(([, a], [, b]) => Math.abs(found.telling[b]) - Math.abs(found.telling[a])).slice(0, 15)
    .map(([term, k]) => [wordLink(term), signed(found.telling[k]), percent(found.inside[k]), found.has_sides ? percent(found.outside[k]) : null]
      .filter((each) => each !== null));
  const heads = found.has_sides ? ["term", "telling", "inside", "outside"] : ["term", "telling", "frequency"];
  return section(`${chosen} against the rest`, `Every dot is a term: green ones speak for the class, red ones against it, large ones most. ${found.has_sides ? "Axes are ranks of frequencies." : "Frequency is a rank."}`,
    h("div", { class: "fields" }, chooser("Class", classes, chosen, (each) => each && go("rest", each)), h("a", { href: `#class/${enc(chosen)}` }, "About the class")),
    said, plot.element, h("div", { class: "pair" }, table("For the class", heads, rows(1)), table("Against it", heads, rows(-1))));
}

// --- what a report tells -----------------------------------------------------------------------

export function overview(source) {
  const { title, paragraphs, numbers, tables, files } = source.data.overview;
  return section(title, null, paragraphs.map((each) => h("p", { class: "lead" }, each)),
    h("dl", { class: "numbers" }, numbers.map(([told, value]) => h("div", {}, h("dt", {}, told), h("dd", {}, value)))),
    tables.map((each) => table(each.caption, each.heads, each.rows)),
    files.length ? [h("h2", {}, "Beside this page"), h("ul", {}, files.map(([name, what]) => h("li", {}, h("a", { href: name }, name), `: ${what}`)))] : null);
}
