// The view that the fragment of the address selects.
import { count, h } from "./components.js";
import { openSource } from "./source.js";
import { classView, mapView, mistakesView, overview, restView, textView, wordView } from "./views.js";

const VIEWS = { overview, text: textView, class: classView, word: wordView, mistakes: mistakesView, map: mapView, rest: restView };
const TABS = { overview: "Overview", text: "Try a text", class: "A class", word: "A word", mistakes: "Mistakes", map: "The map", rest: "Class against rest" };

async function start() {
  const main = document.getElementById("main");
  let source;
  try {
    source = await openSource();
  } catch (error) {
    main.replaceChildren(h("p", { role: "alert" }, `The model cannot be shown: ${error.message}`));
    return;
  }
  const { facts } = source;
  const isAvailable = { overview: Boolean(source.data?.overview), mistakes: facts.has_documents };
  const names = Object.keys(TABS).filter((name) => isAvailable[name] !== false);
  document.title = `${source.name} \u00b7 wordclass`;
  document.getElementById("name").textContent = source.name;
  document.getElementById("facts").textContent = `${facts.classifier}, ${count(facts.n_classes)} classes, ${count(facts.n_terms)} terms`
    + (facts.has_documents ? `; ${count(facts.n_docs)} documents` : "");
  const tabs = Object.fromEntries(names.map((name) => [name, h("a", { href: `#${name}` }, TABS[name])]));
  document.getElementById("tabs").replaceChildren(...names.map((name) => h("li", {}, tabs[name])));
  let nShown = 0;

  async function show(isFirst = false) {
    const [requested, ...parameters] = location.hash.slice(1).split("/").map(decode);
    if (requested === "main") { main.focus(); return; }
    const name = names.includes(requested) ? requested : names[0];
    nShown += 1;
    const turn = nShown;
    for (const [tabName, tab] of Object.entries(tabs)) {
      if (tabName === name) tab.setAttribute("aria-current", "page");
      else tab.removeAttribute("aria-current");
    }
    main.setAttribute("aria-busy", "true");
    let content;
    try {
      content = await VIEWS[name](source, ...(name === requested ? parameters : []));
    } catch (error) {
      content = [h("h1", {}, TABS[name]), h("p", { role: "alert" }, error.message)];
    }
    if (turn !== nShown) return; // the user has opened another view in the meantime
    main.replaceChildren(...content.flat(Infinity).filter(Boolean));
    main.removeAttribute("aria-busy");
    main.dataset.view = name;
    if (isFirst) return;
    const opened = document.getElementById("opened");
    if (opened) opened.scrollIntoView();
    else scrollTo(0, 0);
    (opened ?? main).focus({ preventScroll: true });
  }

  addEventListener("hashchange", () => show());
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => show(true));
  await show(true);
}

function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

start();
