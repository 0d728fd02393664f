// Where the answers come from: the service that handed out this page, or the data inside the file.
import { LocalModel } from "./model.js";
import { enc } from "./parts.js";

class Remote {
  async start() {
    const { models } = await this.ask("models");
    this.name = models[0].id;
    this.facts = await this.get("about");
    return this;
  }

  async ask(path, options) {
    const answer = await fetch(path, options);
    if (answer.status === 503 && answer.headers.has("Retry-After")) {
      await new Promise((wait) => { setTimeout(wait, 1000 * Number(answer.headers.get("Retry-After"))); });
      return this.ask(path, options);
    }
    const found = await answer.json();
    if (!answer.ok) throw new Error(found.detail ?? `status ${answer.status}`);
    return found;
  }

  get(path) { return this.ask(`models/${enc(this.name)}/${path}`); }

  post(path, body) {
    const headers = { "Content-Type": "application/json" };
    return this.ask(`models/${enc(this.name)}/${path}`, { method: "POST", headers, body: JSON.stringify(body) });
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

  map() { this.made ??= this.get("map"); return this.made; }
}

class Local {
  constructor(data) {
    this.data = data;
    this.name = data.name;
    this.facts = data.about;
    this.model = data.model && new LocalModel(data.model, data.about.classes, data.characters);
  }

  need() {
    if (!this.model) throw new Error(this.data.no_model);
    return this.model;
  }

  async predict(text, k) { return this.need().predict(text, k); }

  async explain(text, label, against) { return this.need().explain(text, label, against); }

  async class(name) {
    const column = this.facts.classes.indexOf(name);
    if (column < 0) throw new Error(`unknown class '${name}'`);
    return this.data.classes[column];
  }

  async word(word) {
    if (!this.model) throw new Error(this.data.no_model);
    const term = this.model.written(word);
    const profile = this.model.profile(term);
    const documents = this.documents().filter(({ text }) => this.model.characters.hasWord(text, term));
    const others = this.data.neighbors?.[term] ?? [];
    if (!profile && !documents.length) throw new Error(`'${word}' is not among the terms that this file carries`);
    return {
      word, term, is_known: profile !== null,
      profile: profile ? profile.sort((a, b) => b[1] - a[1]) : [],
      nearest: profile ? this.model.nearest(term, 12) : [],
      source: this.data.neighbor_source, nearest_by_vectors: others.map((each) => [each, null]),
      n_docs: this.facts.has_documents ? documents.length : undefined, documents, is_part: true,
    };
  }

  documents() {
    const found = new Map();
    const add = (each) => found.set(each.number, each);
    for (const each of this.data.classes) [...(each.typical ?? []), ...(each.doubtful ?? [])].forEach(add);
    for (const each of Object.values(this.data.cells)) each.documents.forEach(add);
    return [...found.values()];
  }

  async mistakes() { return this.data.mistakes; }

  async cell(from, to) {
    const place = [from, to].map((name) => (name === null ? -1 : this.facts.classes.indexOf(name)));
    const found = this.data.cells[place.join()];
    if (!found) throw new Error("this cell is not in the file, which carries the most frequent ones; wordclass explore shows all");
    return found;
  }

  async against(name) {
    const model = this.need();
    const [part] = model.parts;
    const m = model.classes.length;
    const column = model.classes.indexOf(name);
    const order = part.terms.map((_, row) => row).sort((a, b) => part.weights[b * m + column] - part.weights[a * m + column]);
    const rows = order.length > 2000 ? [...order.slice(0, 1000), ...order.slice(-1000)] : order;
    const share = rows.map((row) => part.options.doc_freq[row] / part.options.n_docs);
    return {
      class: name, has_sides: false, terms: rows.map((row) => part.terms[row]),
      telling: rows.map((row) => part.weights[row * m + column]), inside: share, outside: share,
    };
  }

  async map() {
    if (!this.data.map) throw new Error(this.data.no_map);
    return this.data.map;
  }
}

export async function openSource() {
  const inside = document.getElementById("data");
  return inside ? new Local(JSON.parse(inside.textContent)) : new Remote().start();
}
