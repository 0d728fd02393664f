// The views. Each gets its data from the source and returns elements.
import { bars, chooser, classLink, colored, colorOf, count, documentCard, enc, fill, h, number, numbersIn, percent, signed, state, table, termText, trimmed, wordLink } from "./components.js";
import { Plot } from "./plot.js";

const go = (...path) => { location.hash = path.map((part) => enc(part)).join("/"); };
const section = (title, lead, ...children) => [h("h1", {}, title), lead && h("p", { class: "lead" }, lead), ...children];

const TYPING_PAUSE_MS = 120;
const N_CLASSES_SHOWN = 8;
const N_TERMS_SHOWN = 20;

// --- try a text ---------------------------------------------------------------------------------

export function textView(source) {
  const { classes, example, is_sum: isSum } = source.facts;
  const isComplete = source.model?.isComplete ?? true;
  const hasProbabilities = source.facts.has_probabilities && isComplete;
  state.text ??= example?.text ?? "";
  const labels = h("div", {});
  const reasons = h("div", {});
  const box = h("textarea", { id: "text", rows: "6", spellcheck: "false", placeholder: "Type or paste a text", oninput: () => schedule() });
  box.value = state.text;
  let timer = 0;
  let nRequests = 0;
  const schedule = () => { clearTimeout(timer); timer = setTimeout(update, TYPING_PAUSE_MS); };

  async function update() {
    state.text = box.value;
    nRequests += 1;
    const request = nRequests;
    try {
      const predictions = await source.predict(state.text, N_CLASSES_SHOWN);
      const explanation = await source.explain(state.text, state.label, state.against);
      if (request !== nRequests) return; // the text has changed in the meantime
      showLabels(predictions, explanation);
      showReasons(explanation);
    } catch (error) {
      labels.replaceChildren(h("p", { role: "alert" }, error.message));
      reasons.replaceChildren();
    }
  }

  function showLabels(predictions, explanation) {
    const predicted = new Set(explanation.predicted.map(String));
    fill(labels,
      h("p", { role: "status", id: "said" }, predicted.size ? ["Predicted: ", h("strong", {}, [...predicted].join(", "))] : "No class is predicted."),
      bars(predictions.map(({ label, probability, score }) => [
        h("button", {
          type: "button", class: "link", "aria-pressed": String(String(explanation.label) === String(label)),
          onclick: () => { state.label = String(label); update(); },
        }, String(label), predicted.has(String(label)) ? " \u2713" : ""),
        hasProbabilities ? probability : score,
        hasProbabilities ? percent(probability) : number(score),
      ]), hasProbabilities ? "Probabilities" : "Scores", "neutral"));
  }

  function showReasons(explanation) {
    const numbers = numbersIn(explanation.words);
    const unknown = explanation.unknown ?? [];
    fill(reasons,
      h("div", { class: "fields" },
        chooser("Explain this class", classes, String(explanation.label), (name) => { state.label = name; update(); }, "The predicted one"),
        chooser("Compare with", classes, state.against, (name) => { state.against = name; update(); }, "No other class")),
      h("p", { class: "text", id: "colored" }, state.text ? colored(state.text, explanation.words) : "The text is empty."),
      unknown.length ? h("p", { class: "note", id: "missing" },
        isComplete ? "Unknown to the model: " : "Unknown to the model, or not among the terms in this file: ",
        unknown.slice(0, 20).join(", "), unknown.length > 20 ? ", \u2026" : "") : null,
      isComplete ? null : h("p", { class: "quiet", id: "carried" },
        `This file has ${count(source.model.nStoredTerms)} of the model's ${count(source.model.nTerms)} terms. The model's scores of texts with other terms differ, so the page shows no probabilities; wordclass explore shows them.`),
      h("p", { class: "sum", id: "sum" },
        explanation.against ? `Score of ${explanation.label} minus score of ${explanation.against}: ` : `Score of ${explanation.label}: `,
        h("strong", {}, number(explanation.score)), ` = ${number(explanation.intercept)} without any word `,
        explanation.sum < 0 ? "\u2212 " : "+ ", `${number(Math.abs(explanation.sum))} from the words`,
        isSum ? "." : ". The number of a word is the drop in the score when the word is masked. In a network these numbers do not sum up, so the difference is part of the first number."),
      h("h2", {}, "Contributions of terms"),
      bars(explanation.terms.slice(0, N_TERMS_SHOWN).map(([term, contribution]) => [wordLink(term, numbers), contribution, signed(contribution)]), "Contributions of terms"));
  }

  update();
  return section("Try a text", "Labels appear as you type. The color of a word shows its contribution to the score of the explained class: green raises it, red lowers it.",
    h("label", { class: "field" }, "Text", box), h("div", { class: "pair" }, h("section", { "aria-label": "Labels" }, labels), h("section", { "aria-label": "Reasons" }, reasons)));
}

// --- a class ------------------------------------------------------------------------------------

export async function classView(source, name) {
  const { classes } = source.facts;
  const chosen = name ?? classes[0];
  const view = await source.class(chosen);
  const { scores } = view;
  const measures = scores ? [["documents", count(scores.n_true)], ["predicted", count(scores.n_predicted)], ["precision", percent(scores.precision)],
    ["recall", percent(scores.recall)], ["F1", percent(scores.f1)]] : [];
  const confusions = (title, rows, link) => rows?.length ? h("section", {}, h("h2", {}, title),
    bars(rows.map(([other, n]) => [h("a", { href: link(other) }, other ?? "no class"), n, count(n)]), title, "wrong")) : null;
  const cellLink = (from, to) => `#mistakes/${enc(from ?? "")}/${enc(to ?? "")}`;
  const termBars = (terms, title) => [h("h2", {}, title), bars(terms.map(([term, value]) => [wordLink(term), value]), title)];
  const cards = (documents, title) => (documents?.length ? [h("h2", {}, title), h("div", { class: "cards" }, documents.map((document_) => documentCard(document_)))] : null);
  return section(chosen, null,
    h("div", { class: "fields" }, chooser("Class", classes, chosen, (other) => other && go("class", other)),
      h("a", { href: `#rest/${enc(chosen)}` }, "Compare with the other classes")),
    measures.length ? h("dl", { class: "numbers" }, measures.map(([term, value]) => h("div", {}, h("dt", {}, term), h("dd", {}, value)))) : null,
    h("div", { class: "pair" },
      h("section", {}, termBars(view.terms, "Highest-scoring terms")),
      h("section", {},
        confusions("Wrongly predicted as", view.taken_for, (other) => cellLink(chosen, other)),
        confusions("Wrongly predicted for documents of", view.takes, (other) => cellLink(other, chosen)),
        view.against.length ? termBars(view.against, "Lowest-scoring terms") : null)),
    cards(view.typical, "Most typical documents"),
    cards(view.doubtful, "Most doubtful documents"));
}

// --- a word -------------------------------------------------------------------------------------

export async function wordView(source, requested) {
  const word = requested ?? source.facts.example?.word;
  const field = h("input", { id: "word", type: "search", value: word ? termText(word) : "", autocomplete: "off", spellcheck: "false" });
  const form = h("form", { class: "fields", onsubmit: (event) => { event.preventDefault(); if (trimmed(field.value)) go("word", trimmed(field.value)); } },
    h("label", { class: "field" }, "Word", field), h("button", { type: "submit" }, "Look up"));
  if (!word) return section("A word", "The scores of a word for all classes, similar words, and documents with it.", form);
  let view;
  try {
    view = await source.word(word);
  } catch (error) {
    return section(termText(word), null, form, h("p", { role: "alert" }, error.message));
  }
  const isNumber = termText(view.term) !== view.term;
  const title = isNumber ? termText(word) : view.term;
  let lead = null;
  if (!view.is_known) lead = "The model does not know this word.";
  else if (isNumber) lead = "The model treats all numbers alike.";
  const neighbors = (heading, rows, description) => h("section", {}, h("h2", {}, heading), h("p", { class: "quiet" }, description),
    rows.length ? h("ol", { class: "words" }, rows.map(([other, cosine]) => h("li", {}, wordLink(other), cosine === null ? "" : h("span", { class: "number" }, ` ${number(cosine, 2)}`))))
      : h("p", {}, "None."));
  const { profile } = view;
  const highest = profile.slice(0, 20);
  const lowest = profile.slice(20).slice(-8);
  const nBetween = profile.length - highest.length - lowest.length;
  const profileBars = (rows, label) => bars(rows.map(([name, value]) => [classLink(name), value, signed(value)]), label);
  return section(title, lead, form,
    profile.length ? h("section", {}, h("h2", {}, "Scores for the classes"), profileBars(highest, "Highest scores"),
      lowest.length ? [h("p", { class: "quiet" }, `${count(nBetween)} classes between these.`), profileBars(lowest, "Lowest scores")] : null) : null,
    h("div", { class: "pair" },
      neighbors("Nearest words by classes", view.nearest, "Words with similar scores for the classes"),
      neighbors("Nearest words without classes", view.nearest_by_vectors, view.source ?? "There are no other vectors. Start with --vectors or --data to add them.")),
    view.n_docs !== undefined ? h("section", {}, h("h2", {}, `Documents (${count(view.n_docs)}${view.is_part ? " of those in this file" : ""})`),
      h("div", { class: "cards" }, view.documents.slice(0, 12).map((document_) => documentCard(document_)))) : null);
}

// --- mistakes -----------------------------------------------------------------------------------

const MAX_TABLE_CLASSES = 24; // of a table that can be read
const N_FREQUENT_CELLS = 10;

export async function mistakesView(source, from, to) {
  const { classes, measures } = source.facts;
  const view = await source.mistakes();
  const nameOf = (column) => (column < 0 ? null : classes[column]);
  const chosen = from === undefined ? null : [from || null, to || null];
  const nMistakes = new Array(classes.length).fill(0);
  for (const [i, j, n] of view.cells) { if (i >= 0) nMistakes[i] += n; if (j >= 0) nMistakes[j] += n; }
  const columns = [...classes.keys()].sort((a, b) => nMistakes[b] - nMistakes[a] || a - b).slice(0, MAX_TABLE_CLASSES).sort((a, b) => a - b);
  const hasNoClass = view.cells.some(([i, j]) => i < 0 || j < 0);
  const all = hasNoClass ? [...columns, -1] : columns;
  const counts = new Map(view.cells.map(([i, j, n]) => [`${i},${j}`, n]));
  columns.forEach((j) => counts.set(`${j},${j}`, view.right[j]));
  const largest = Math.max(1, ...view.cells.map(([, , n]) => n));
  const href = (i, j) => `#mistakes/${enc(nameOf(i) ?? "")}/${enc(nameOf(j) ?? "")}`;
  const tableCell = (i, j) => {
    const n = counts.get(`${i},${j}`);
    if (!n) return h("td", {}, "");
    const isRight = i === j;
    const label = isRight ? `${n} documents of ${nameOf(i)} are correct` : `${n} documents of ${nameOf(i) ?? "no class"} predicted as ${nameOf(j) ?? "no class"}`;
    const isChosen = chosen && chosen[0] === nameOf(i) && chosen[1] === nameOf(j);
    return h("td", { class: isRight ? "right" : "wrong", style: { "--s": `${Math.round(8 + 40 * Math.sqrt(n / largest))}%` } },
      h("a", { href: href(i, j), "aria-label": label, title: label, "aria-current": isChosen ? "true" : null }, count(n)));
  };
  const detail = h("div", { id: "cell" });
  if (chosen) detail.append(...(await cellDetail(source, ...chosen)));
  return section("Mistakes", `${count(view.n_mistaken)} of ${count(view.n_docs)} documents are not completely correct: macro F1 ${percent(measures.macro_f1)}, accuracy ${percent(measures.accuracy)}.`,
    h("h2", {}, "Most frequent mistakes"),
    bars(view.cells.slice(0, N_FREQUENT_CELLS).map(([i, j, n]) => [h("a", { href: href(i, j) }, `${nameOf(i) ?? "no class"} \u2192 ${nameOf(j) ?? "no class"}`), n, count(n)]), "Most frequent mistakes", "wrong"),
    h("h2", {}, "Confusion table"),
    classes.length > MAX_TABLE_CLASSES ? h("p", { class: "quiet" }, `The ${MAX_TABLE_CLASSES} classes with most mistakes, of ${count(classes.length)}.`) : null,
    h("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Confusion table" },
      h("table", { class: "confusion" }, h("caption", {}, "Rows are the true classes, columns the predicted ones"),
        h("thead", {}, h("tr", {}, h("td", {}), all.map((j) => h("th", { scope: "col" }, h("span", {}, nameOf(j) ?? "no class"))))),
        h("tbody", {}, all.map((i) => h("tr", {}, h("th", { scope: "row" }, nameOf(i) ?? "no class"), all.map((j) => tableCell(i, j))))))),
    detail);
}

async function cellDetail(source, from, to) {
  const isRight = from === to;
  const title = isRight ? `${from}, correctly predicted` : `${from ?? "No class"} predicted as ${to ?? "no class"}`;
  let view;
  try {
    view = await source.cell(from, to);
  } catch (error) {
    return [h("h2", { id: "opened" }, title), h("p", { role: "alert" }, error.message)];
  }
  const intro = [h("h2", { id: "opened", tabindex: "-1" }, title), h("p", {}, `${count(view.n_docs)} documents.`)];
  const causes = (words) => h("p", {}, h("strong", {}, "Main words: "), words.map(([word, contribution], k) => [k ? ", " : "", wordLink(word), ` ${signed(contribution, 2)}`]));
  const cards = h("div", { class: "cards" }, view.documents.map((document_) => documentCard(document_, document_.words.length ? causes(document_.words) : null)));
  if (isRight || !view.n_docs) return [...intro, cards];
  const which = view.n_summed < view.n_docs ? `the first ${count(view.n_summed)} of these documents` : "these documents";
  return [...intro,
    h("p", { id: "total" }, `Over ${which}, the score of ${to ?? "no class"} exceeds that of ${from ?? "no class"} by `,
      h("strong", {}, number(view.total, 2)), ` in total: ${number(view.constant, 2)} without any word and `,
      `${number(view.total - view.constant, 2)} from words.`),
    table("Words with the largest contributions, summed over the documents", ["word", "contribution", "documents"],
      view.words.map(([word, contribution, n]) => [wordLink(word), signed(contribution), count(n)])),
    h("p", { class: "quiet" }, `All other words: ${signed(view.rest)}.`), cards];
}

// --- the map ------------------------------------------------------------------------------------

const MAX_CHIPS = 60;
const N_RESULTS = 30;

export async function mapView(source, name) {
  document.getElementById("main").replaceChildren(h("h1", {}, "The map"),
    h("p", { role: "status" }, "Computing the map. This takes some seconds for 5,000 terms."));
  const map = await source.map();
  const { classes } = source.facts;
  const colors = classes.map((_, column) => colorOf(column, classes.length));
  const allRows = [...map.terms.keys()];
  let chosen = name ? classes.indexOf(name) : -1;
  let matches = new Set();
  let panel = Math.min(1, map.panels.length - 1);
  const message = h("output", { id: "said", for: "find" }, "Point at a term, search for one, or choose a class.");
  const pointsOf = (k) => map.panels[k].places.map(([x, y]) => ({ x, y }));
  const profileOf = (k) => (map.profiles.length ? map.profiles[k].map(([column, value]) => [classes[column], value])
    : source.model?.profile(map.terms[k])?.sort((a, b) => b[1] - a[1]).slice(0, 5) ?? []);
  const describe = (k) => {
    const scores = profileOf(k).map(([label, value]) => `${label} ${signed(value, 2)}`);
    message.textContent = `${termText(map.terms[k])}: ${scores.length ? scores.join(", ") : classes[map.class_of[k]]}`;
  };
  const plot = new Plot({
    points: pointsOf(panel), label: `Map of ${map.terms.length} terms`, name: (k) => termText(map.terms[k]),
    look: (k) => ({
      color: colors[map.class_of[k]], size: matches.has(k) ? 6 : 3,
      isOn: matches.size ? matches.has(k) : chosen < 0 || map.class_of[k] === chosen,
    }),
    onpoint: (k) => { if (k >= 0) describe(k); }, onchoose: describe,
  });
  const results = h("ul", { class: "words", id: "found" });
  const search = (event) => {
    const typed = trimmed(event.target.value);
    const rows = typed ? allRows.filter((k) => map.terms[k].startsWith(typed) || map.terms[k].startsWith(typed.toLowerCase())) : [];
    const prefix = rows.some((k) => map.terms[k].startsWith(typed)) ? typed : typed.toLowerCase();
    const exact = rows.find((k) => map.terms[k] === prefix);
    matches = new Set(rows);
    if (exact !== undefined) { plot.show(exact); describe(exact); } else if (prefix) {
      message.textContent = rows.length ? `${rows.length} terms begin with "${prefix}".` : `No term on the map begins with "${prefix}".`;
    }
    results.replaceChildren(...rows.slice(0, N_RESULTS).map((k) => h("li", {}, wordLink(map.terms[k]), ` (${classes[map.class_of[k]]})`)));
    plot.draw();
  };
  const chips = h("div", { class: "chips", role: "group", "aria-label": "Classes" });
  const choose = (column) => {
    chosen = chosen === column ? -1 : column;
    [...chips.children].forEach((chip) => chip.setAttribute("aria-pressed", String(Number(chip.dataset.column) === chosen)));
    if (chosen >= 0) {
      const rows = allRows.filter((k) => map.class_of[k] === chosen);
      message.textContent = `${classes[chosen]}: ${rows.slice(0, 10).map((k) => termText(map.terms[k])).join(", ")}`;
    }
    plot.draw();
  };
  const mapClasses = [...new Set(map.class_of)].sort((a, b) => a - b);
  const hasChips = mapClasses.length <= MAX_CHIPS;
  if (hasChips) {
    chips.append(...mapClasses.map((column) => h("button", { type: "button", "data-column": column, "aria-pressed": String(column === chosen), onclick: () => choose(column) },
      h("i", { "aria-hidden": "true", style: { background: colors[column] } }), classes[column])));
  }
  const choosePanel = (k) => (event) => {
    panel = k;
    [...event.currentTarget.parentNode.children].forEach((button, other) => button.setAttribute("aria-pressed", String(other === k)));
    plot.points = pointsOf(k);
    plot.draw();
  };
  const panels = map.panels.length > 1 ? h("div", { class: "chips", role: "group", "aria-label": "Panels" }, map.panels.map(({ title, caption, neighbor_share: share }, k) =>
    h("button", { type: "button", title: caption, "aria-pressed": String(k === panel), onclick: choosePanel(k) }, `${title} (${Math.round(100 * share)}%)`))) : null;
  const onlyClass = hasChips ? null : chooser("Only this class", classes, chosen < 0 ? null : classes[chosen],
    (label) => { chosen = label ? classes.indexOf(label) : -1; plot.draw(); }, "All classes");
  return section("The map", `The ${count(map.terms.length)} most discriminative terms, laid out by t-SNE: terms with similar scores for the classes are near each other. `
    + `On average, ${Math.round(100 * map.panels[panel].neighbor_share)}% of a term's ten nearest neighbors have the same class.`,
    panels,
    h("div", { class: "fields" },
      h("label", { class: "field" }, "Find a term", h("input", { id: "find", type: "search", autocomplete: "off", spellcheck: "false", oninput: search })),
      onlyClass),
    message, plot.element, results, chips.children.length ? chips : null);
}

// --- a class against the rest -------------------------------------------------------------------

const N_TABLE_TERMS = 15;

export async function restView(source, name) {
  const { classes } = source.facts;
  const chosen = name ?? classes[0];
  const view = await source.against(chosen);
  // equal values get the same rank, because most frequencies are low
  const ranks = (values) => {
    const distinct = [...new Set(values)].sort((a, b) => a - b);
    const rankOf = new Map(distinct.map((value, k) => [value, distinct.length > 1 ? k / (distinct.length - 1) : 0.5]));
    return values.map((value) => rankOf.get(value));
  };
  const scores = view.telling;
  const largest = Math.max(...scores.map(Math.abs), 1e-12);
  const x = ranks(view.outside);
  const y = view.has_sides ? ranks(view.inside) : scores.map((score) => 0.5 + score / (2 * largest));
  const style = getComputedStyle(document.documentElement);
  const [green, red] = ["--for", "--against"].map((property) => style.getPropertyValue(property));
  const message = h("output", {}, "Point at a term.");
  const describe = (k) => {
    const frequency = view.has_sides ? `in ${percent(view.inside[k])} of the documents of ${chosen} and in ${percent(view.outside[k])} of the others` : `in ${percent(view.inside[k])} of the training documents`;
    message.textContent = `${termText(view.terms[k])}: ${signed(scores[k])} for ${chosen}; ${frequency}`;
  };
  const plot = new Plot({
    points: x.map((value, k) => ({ x: value, y: y[k] })), label: `${chosen} against the rest: ${view.terms.length} terms`, name: (k) => termText(view.terms[k]),
    look: (k) => ({ color: scores[k] > 0 ? green : red, size: 2 + (4 * Math.abs(scores[k])) / largest }),
    onpoint: (k) => { if (k >= 0) describe(k); }, onchoose: describe,
    axes: view.has_sides ? { x: "frequent in the others \u2192", y: `\u2191 frequent in ${chosen}` } : { x: "frequent \u2192", y: `\u2191 high score for ${chosen}` },
  });
  const rows = (sign) => [...view.terms.keys()].filter((k) => sign * scores[k] > 0)
    .sort((a, b) => Math.abs(scores[b]) - Math.abs(scores[a])).slice(0, N_TABLE_TERMS)
    .map((k) => [wordLink(view.terms[k]), signed(scores[k]), percent(view.inside[k]), ...(view.has_sides ? [percent(view.outside[k])] : [])]);
  const heads = view.has_sides ? ["term", "score", "inside", "outside"] : ["term", "score", "frequency"];
  return section(`${chosen} against the rest`, `Every dot is a term. Green terms raise the score of the class, red terms lower it, and large dots have the largest scores. ${view.has_sides ? "The axes are ranks of frequencies." : "The horizontal axis is the rank of the frequency."}`,
    h("div", { class: "fields" }, chooser("Class", classes, chosen, (other) => other && go("rest", other)), h("a", { href: `#class/${enc(chosen)}` }, "About the class")),
    message, plot.element, h("div", { class: "pair" }, table("Terms that raise the score", heads, rows(1)), table("Terms that lower the score", heads, rows(-1))));
}

// --- the overview of a report -------------------------------------------------------------------

export function overview(source) {
  const { title, paragraphs, numbers, tables, files } = source.data.overview;
  return section(title, null, paragraphs.map((paragraph) => h("p", { class: "lead" }, paragraph)),
    h("dl", { class: "numbers" }, numbers.map(([term, value]) => h("div", {}, h("dt", {}, term), h("dd", {}, value)))),
    tables.map(({ caption, heads, rows }) => table(caption, heads, rows)),
    files.length ? [h("h2", {}, "Other files of this report"), h("ul", {}, files.map(([name, description]) => h("li", {}, h("a", { href: name }, name), `: ${description}`)))] : null);
}
