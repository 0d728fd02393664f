// The source of all data: the service that served this page, or the data inside the file.
import { enc } from "./components.js";
import { load } from "./wordclass.mjs";

const MAX_TERMS_AGAINST_REST = 2000;
const N_NEAREST = 12;

class ServiceSource {
  async start() {
    const { models } = await this.request("models");
    this.name = models[0].id;
    this.facts = await this.get("about");
    return this;
  }

  async request(path, options) {
    const response = await fetch(path, options);
    if (response.status === 503 && response.headers.has("Retry-After")) {
      await new Promise((resolve) => { setTimeout(resolve, 1000 * Number(response.headers.get("Retry-After"))); });
      return this.request(path, options);
    }
    const content = await response.json();
    if (!response.ok) throw new Error(content.detail ?? `status ${response.status}`);
    return content;
  }

  get(path) { return this.request(`models/${enc(this.name)}/${path}`); }

  post(path, body) {
    const headers = { "Content-Type": "application/json" };
    return this.request(`models/${enc(this.name)}/${path}`, { method: "POST", headers, body: JSON.stringify(body) });
  }

  async predict(text, k) { return (await this.post("predict", { texts: [text], k })).results[0]; }

  explain(text, label, against) { return this.post("explain", { text, label, against }); }

  class(name) { return this.get(`classes/${enc(name)}`); }

  word(word) { return this.get(`words/${enc(word)}`); }

  mistakes() { return this.get("mistakes"); }

  cell(from, to) {
    const query = new URLSearchParams();
    if (from !== null) query.set("true", from);
    if (to !== null) query.set("predicted", to);
    return this.get(`cell?${query}`);
  }

  against(name) { return this.get(`against/${enc(name)}`); }

  map() { this.mapRequest ??= this.get("map"); return this.mapRequest; }
}

class FileSource {
  constructor(data) {
    this.data = data;
    this.name = data.name;
    this.facts = data.about;
  }

  async start() {
    if (this.data.model) this.model = await load(Uint8Array.from(atob(this.data.model), (letter) => letter.charCodeAt(0)));
    return this;
  }

  requireModel() {
    if (!this.model) throw new Error(this.data.no_model);
    return this.model;
  }

  async predict(text, k) { return this.requireModel().best(text, k); }

  async explain(text, label, against) { return this.requireModel().explain(text, label, against); }

  async class(name) {
    const column = this.facts.classes.indexOf(name);
    if (column < 0) throw new Error(`unknown class '${name}'`);
    return this.data.classes[column];
  }

  async word(word) {
    const model = this.requireModel();
    const term = model.termOf(word);
    const profile = model.profile(term);
    const documents = this.documents().filter(({ text }) => model.characters.hasWord(text, term));
    const neighbors = this.data.neighbors?.[term] ?? [];
    if (!profile && !documents.length) throw new Error(`the model does not know the word '${word}'`);
    return {
      word, term, is_known: profile !== null,
      profile: profile ? profile.sort((a, b) => b[1] - a[1]) : [],
      nearest: profile ? model.nearest(term, N_NEAREST) : [],
      source: this.data.neighbor_source, nearest_by_vectors: neighbors.map((neighbor) => [neighbor, null]),
      n_docs: this.facts.has_documents ? documents.length : undefined, documents, is_part: true,
    };
  }

  // the documents of all views in the file
  documents() {
    const documents = new Map();
    const add = (document_) => documents.set(document_.number, document_);
    for (const view of this.data.classes) [...(view.typical ?? []), ...(view.doubtful ?? [])].forEach(add);
    for (const view of Object.values(this.data.cells)) view.documents.forEach(add);
    return [...documents.values()];
  }

  async mistakes() { return this.data.mistakes; }

  async cell(from, to) {
    const columns = [from, to].map((name) => (name === null ? -1 : this.facts.classes.indexOf(name)));
    const view = this.data.cells[columns.join()];
    if (!view) throw new Error("this cell is not in the file, which has the most frequent ones; wordclass explore shows all cells");
    return view;
  }

  async against(name) {
    const model = this.requireModel();
    const [part] = model.parts;
    const m = model.classes.length;
    const column = model.columnOf(name);
    const weight = (row) => part.weights[row * m + column];
    const order = part.terms.map((_, row) => row).sort((a, b) => weight(b) - weight(a));
    const half = MAX_TERMS_AGAINST_REST / 2;
    const rows = order.length > MAX_TERMS_AGAINST_REST ? [...order.slice(0, half), ...order.slice(-half)] : order;
    const shares = rows.map((row) => part.docFreq[row] / part.nDocs);
    return {
      class: name, has_sides: false, terms: rows.map((row) => part.terms[row]),
      telling: rows.map(weight), inside: shares, outside: shares,
    };
  }

  async map() {
    if (!this.data.map) throw new Error(this.data.no_map);
    return this.data.map;
  }
}

export async function openSource() {
  const embedded = document.getElementById("data");
  return (embedded ? new FileSource(JSON.parse(embedded.textContent)) : new ServiceSource()).start();
}
