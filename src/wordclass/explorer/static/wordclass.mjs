// Read a portable model of wordclass and classify texts with it. This module has no dependencies
// and works in browsers, Node and Deno. `docs/reference/portable-models.md` of wordclass describes the file.
//
//   import { load } from "./wordclass.mjs";
//   const model = await load(await (await fetch("model.bin")).arrayBuffer());
//   model.predict(["a text", "another text"]);  // [[{ label, score, probability }], ...]
//   model.explain("a text", "a label");         // contributions of terms and words to the score

const MAGIC = "WCMODEL\0";
const VERSION = 1;
const IS_MULTILABEL = 1;
const KEEPS_HIGHEST = 2;
const IS_COMPLETE = 4;
const NUMBER_MASK = "numbermask";
const SIGMA = "\u03a3";
const FINAL_SIGMA = "\u03c2";

/**
 * Read a model.
 * @param {ArrayBuffer|Uint8Array} content The content of a model file.
 * @returns {Promise<Model>}
 */
export async function load(content) {
  return new Model(readSections(content));
}

// --- the file -----------------------------------------------------------------------------------

function readSections(content) {
  const bytes = content instanceof Uint8Array ? content : new Uint8Array(content);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const magic = String.fromCharCode(...bytes.subarray(0, 8));
  if (magic !== MAGIC) throw new Error("not a portable model of wordclass");
  const version = view.getUint32(8, true);
  if (version > VERSION) throw new Error(`version ${version} of the format; this module reads version ${VERSION}`);
  const nSections = view.getUint32(12, true);
  const sections = new Map();
  let offset = 16;
  for (let k = 0; k < nSections; k += 1) {
    if (offset + 16 > bytes.length) throw new Error("the model is damaged or cut short");
    const tag = String.fromCharCode(...bytes.subarray(offset, offset + 4));
    const part = view.getUint32(offset + 4, true);
    const size = Number(view.getBigUint64(offset + 8, true));
    offset += 16;
    if (offset + size > bytes.length) throw new Error("the model is damaged or cut short");
    // a copy is aligned, so that typed arrays can view it
    sections.set(`${tag}${part}`, new Uint8Array(bytes.subarray(offset, offset + size)).buffer);
    offset += size + ((8 - (size % 8)) % 8);
  }
  return sections;
}

function readStrings(buffer) {
  const n = new DataView(buffer).getUint32(0, true);
  const ends = new Uint32Array(buffer, 4, n);
  const bytes = new Uint8Array(buffer, 4 + 4 * n);
  const strings = new Array(n);
  let start = 0;
  for (let k = 0; k < n; k += 1) {
    strings[k] = decodeText(bytes, start, ends[k]);
    start = ends[k];
  }
  return strings;
}

// UTF-8 in which lone surrogates may occur; a TextDecoder would replace them
function decodeText(bytes, start, end) {
  let text = "";
  let at = start;
  while (at < end) {
    const first = bytes[at];
    const size = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    let code = size === 1 ? first : first & (0x7f >> size);
    for (let k = 1; k < size; k += 1) code = (code << 6) | (bytes[at + k] & 0x3f);
    text += String.fromCodePoint(code);
    at += size;
  }
  return text;
}

function readWeights(buffer, type) {
  if (type === 0) return new Float32Array(buffer);
  const halves = new Uint16Array(buffer);
  const weights = new Float32Array(halves.length);
  for (let k = 0; k < halves.length; k += 1) weights[k] = decodeHalf(halves[k]);
  return weights;
}

function decodeHalf(half) {
  const sign = half & 0x8000 ? -1 : 1;
  const exponent = (half >> 10) & 0x1f;
  const fraction = half & 0x3ff;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

// --- texts --------------------------------------------------------------------------------------

// Characters as in the Python that exported the model. The classes and lower-case letters of
// JavaScript follow other versions of Unicode, or other definitions.
export class Characters {
  constructor(sections) {
    const table = (tag) => characterClass(new Uint32Array(sections.get(`${tag}0`)));
    const word = `[${table("WORD")}]`;
    const boundary = `(?:(?<=${word})(?!${word})|(?<!${word})(?=${word}))`;
    this.number = new RegExp(`(?<!${word})[0-9][0-9.,-]*${boundary}`, "gu");
    this.token = new RegExp(`${word}{2,}`, "gu");
    this.run = new RegExp(`${word}+`, "gu");
    // U+0000 and lone surrogates count as white space
    this.visible = new RegExp(`[^${table("SPAC")}\\u{0}\\u{d800}-\\u{dfff}]+`, "gu");
    this.cased = new RegExp(`^[${table("CASE")}]$`, "u");
    this.ignorable = new RegExp(`^[${table("IGNO")}]$`, "u");
    this.lowerOf = new Map();
    const records = new Uint32Array(sections.get("LOWR0"));
    for (let k = 0; k < records.length; k += 3) {
      const lower = records[k + 2] ? [records[k + 1], records[k + 2]] : [records[k + 1]];
      this.lowerOf.set(String.fromCodePoint(records[k]), String.fromCodePoint(...lower));
    }
  }

  // the lower case of a letter, which may depend on the letters around it
  lowerAt(letters, at) {
    if (letters[at] === SIGMA && this.isFinal(letters, at)) return FINAL_SIGMA;
    return this.lowerOf.get(letters[at]) ?? letters[at];
  }

  isFinal(letters, at) {
    let before = at - 1;
    while (before >= 0 && this.ignorable.test(letters[before])) before -= 1;
    if (before < 0 || !this.cased.test(letters[before])) return false;
    let after = at + 1;
    while (after < letters.length && this.ignorable.test(letters[after])) after += 1;
    return after === letters.length || !this.cased.test(letters[after]);
  }

  lower(text) {
    const letters = Array.from(text);
    return letters.map((_, at) => this.lowerAt(letters, at)).join("");
  }

  // true if a text has this word between characters that are not part of a word
  hasWord(text, word) {
    return Array.from(this.lower(text).matchAll(this.run)).some((match) => match[0] === word);
  }
}

// ranges of code points for the brackets of a regular expression
function characterClass(bounds) {
  const escaped = Array.from(bounds, (code) => `\\u{${code.toString(16)}}`);
  const ranges = [];
  for (let k = 0; k < escaped.length; k += 2) ranges.push(`${escaped[k]}-${escaped[k + 1]}`);
  return ranges.join("");
}

// the text in which tokens are searched, and the origin of each of its code units in code points
function normalize(text, masksNumbers, characters) {
  const letters = [];
  const spans = [];
  let position = 0; // in code points
  const copy = (piece) => {
    for (const letter of piece) {
      letters.push(letter);
      spans.push([position, position + 1]);
      position += 1;
    }
  };
  let end = 0;
  for (const match of masksNumbers ? text.matchAll(characters.number) : []) {
    copy(text.slice(end, match.index));
    const next = position + match[0].length; // a number is ASCII
    for (const letter of NUMBER_MASK) {
      letters.push(letter);
      spans.push([position, next]);
    }
    position = next;
    end = match.index + match[0].length;
  }
  copy(text.slice(end));
  const lowered = [];
  const starts = [];
  const ends = [];
  letters.forEach((_, at) => {
    const lower = characters.lowerAt(letters, at);
    lowered.push(lower);
    for (let k = 0; k < lower.length; k += 1) {
      starts.push(spans[at][0]);
      ends.push(spans[at][1]);
    }
  });
  return { normalized: lowered.join(""), starts, ends };
}

// the tokens of a text with their positions in code points
export function tokenize(text, { masksNumbers, stopWords }, characters) {
  const { normalized, starts, ends } = normalize(text, masksNumbers, characters);
  const stopped = new Set(stopWords);
  const tokens = [];
  for (const match of normalized.matchAll(characters.token)) {
    if (stopped.has(match[0])) continue;
    const last = match.index + match[0].length - 1;
    tokens.push({ token: match[0], start: starts[match.index], end: ends[last] });
  }
  return tokens;
}

// n-grams of tokens: [term, spans of its tokens]
export function* wordTerms(tokens, [shortest, longest]) {
  for (let size = shortest; size <= longest; size += 1) {
    for (let first = 0; first + size <= tokens.length; first += 1) {
      const ngram = tokens.slice(first, first + size);
      yield [ngram.map(({ token }) => token).join(" "), ngram.map(({ start, end }) => [start, end])];
    }
  }
}

// n-grams of characters inside words, which are padded with blanks: [term, spans of its characters]
export function* characterTerms(text, [shortest, longest], characters) {
  const { normalized, starts, ends } = normalize(text, false, characters);
  for (const match of normalized.matchAll(characters.visible)) {
    const letters = Array.from(match[0]);
    const spans = [];
    let at = match.index;
    for (const letter of letters) {
      spans.push([starts[at], ends[at + letter.length - 1]]);
      at += letter.length;
    }
    const padded = [" ", ...letters, " "];
    for (let n = shortest; n <= Math.max(shortest, Math.min(longest, padded.length)); n += 1) {
      for (let start = 0; start <= Math.max(padded.length - n, 0); start += 1) {
        const end = Math.min(start + n, padded.length);
        const inside = spans.slice(Math.max(start - 1, 0), end - 1);
        yield [padded.slice(start, end).join(""), inside.length ? inside : spans];
      }
    }
  }
}

// --- the model ----------------------------------------------------------------------------------

// the weights of words, or of n-grams of characters
class Part {
  constructor(sections, number, characters) {
    const section = (tag) => sections.get(`${tag}${number}`);
    const [kind, shortest, longest, masksNumbers, nDocs, nTerms, weightType] = new Uint32Array(section("PART"));
    this.isWords = kind === 0;
    this.ngrams = [shortest, longest];
    this.masksNumbers = masksNumbers === 1;
    this.stopWords = readStrings(section("STOP"));
    this.characters = characters;
    this.terms = readStrings(section("TERM"));
    this.rowOf = new Map(this.terms.map((term, row) => [term, row]));
    this.weights = readWeights(section("WGHT"), weightType);
    this.nDocs = nDocs;
    this.docFreq = new Uint32Array(section("DOCF"));
    this.idf = Float64Array.from(this.docFreq, (n) => Math.log((1 + nDocs) / (1 + n)) + 1);
    if (this.terms.length !== nTerms || this.docFreq.length !== nTerms) throw new Error("the model is damaged");
  }

  tokens(text) {
    return tokenize(text, this, this.characters);
  }

  // tf-idf weights of the known terms of a text, their spans, and the unknown words
  read(text) {
    const occurrences = new Map();
    const unknown = new Set();
    const terms = this.isWords ? wordTerms(this.tokens(text), this.ngrams) : characterTerms(text, this.ngrams, this.characters);
    for (const [term, spans] of terms) {
      const row = this.rowOf.get(term);
      if (row === undefined) {
        if (!term.includes(" ")) unknown.add(term);
        continue;
      }
      if (!occurrences.has(row)) occurrences.set(row, []);
      occurrences.get(row).push(spans);
    }
    let sumOfSquares = 0;
    const weights = new Map();
    for (const [row, spans] of occurrences) {
      const weight = (1 + Math.log(spans.length)) * this.idf[row];
      weights.set(row, weight);
      sumOfSquares += weight * weight;
    }
    const length = Math.sqrt(sumOfSquares) || 1;
    for (const [row, weight] of weights) weights.set(row, weight / length);
    return { occurrences, weights, unknown };
  }
}

export class Model {
  constructor(sections) {
    const [nClasses, flags, nParts, nTerms] = new Uint32Array(sections.get("META0"));
    const numbers = (tag) => (sections.has(`${tag}0`) ? new Float64Array(sections.get(`${tag}0`)) : null);
    this.isMultilabel = Boolean(flags & IS_MULTILABEL);
    this.keepsHighest = Boolean(flags & KEEPS_HIGHEST);
    this.isComplete = Boolean(flags & IS_COMPLETE); // false if the file lacks terms of the model
    this.nTerms = nTerms; // of the model, including terms that the file lacks
    this.classes = readStrings(sections.get("CLAS0"));
    this.intercept = numbers("BIAS");
    this.thresholds = numbers("THRE");
    this.calibration = numbers("CALI");
    this.isFrequent = sections.has("FREQ0") ? new Uint8Array(sections.get("FREQ0")) : null;
    this.characters = new Characters(sections);
    this.parts = [];
    for (let k = 1; k <= nParts; k += 1) this.parts.push(new Part(sections, k, this.characters));
    this.nStoredTerms = this.parts.reduce((sum, part) => sum + part.terms.length, 0);
    if (this.classes.length !== nClasses || this.intercept.length !== nClasses) throw new Error("the model is damaged");
  }

  /**
   * Predict the labels of texts: one label per text, or any number in a multilabel task.
   * @param {string[]} texts
   * @returns {{label: string, score: number, probability: number|null}[][]} Per text, best first.
   */
  predict(texts) {
    return texts.map((text) => {
      const scores = this.scores(text);
      const columns = this.predictedColumns(scores);
      return this.ranked(scores).filter(({ column }) => columns.includes(column)).map(withoutColumn);
    });
  }

  /**
   * Return the k best classes of a text, whether they are predicted or not.
   * @returns {{label: string, score: number, probability: number|null}[]} Best first.
   */
  best(text, k) {
    return this.ranked(this.scores(text)).slice(0, k).map(withoutColumn);
  }

  /**
   * Explain the score of a class, or the difference between two classes.
   * @param {string} text
   * @param {string|null} label The class; by default the predicted class with the highest score.
   * @param {string|null} against Another class, whose contributions are subtracted.
   * @returns `score` is `intercept` plus `sum`, the sum of the contributions of all `terms`
   *   ([term, contribution]), and of all `words` ([word, start, end, contribution]).
   */
  explain(text, label = null, against = null) {
    const scores = this.scores(text);
    const columns = this.predictedColumns(scores);
    const candidates = columns.length ? columns : [indexOfMaximum(scores)];
    const best = candidates.reduce((a, b) => (scores[b] > scores[a] ? b : a));
    const chosen = label === null ? best : this.columnOf(label);
    const signs = [[chosen, 1]];
    if (against !== null) signs.push([this.columnOf(against), -1]);
    const differenceOf = (values) => signs.reduce((sum, [column, sign]) => sum + sign * values[column], 0);
    const m = this.classes.length;
    let terms = [];
    let unknown = new Set();
    const contributions = new Map(); // by span
    this.parts.forEach((part, number) => {
      const content = part.read(text);
      if (number === 0) unknown = content.unknown;
      for (const [row, weight] of content.weights) {
        const contribution = weight * signs.reduce((sum, [column, sign]) => sum + sign * part.weights[row * m + column], 0);
        if (number === 0) terms.push([part.terms[row], contribution]);
        const occurrences = content.occurrences.get(row);
        for (const spans of occurrences) {
          for (const span of spans) {
            const key = span.join();
            const share = contribution / (occurrences.length * spans.length);
            contributions.set(key, (contributions.get(key) ?? 0) + share);
          }
        }
      }
    });
    const words = this.mergeIntoWords(contributions, text);
    const letters = Array.from(text);
    const textOf = (start, end) => letters.slice(start, end).join("");
    if (this.parts.length > 1) {
      const byWord = new Map();
      for (const [start, end, contribution] of words) {
        const word = this.characters.lower(textOf(start, end));
        byWord.set(word, (byWord.get(word) ?? 0) + contribution);
      }
      terms = [...byWord];
    }
    terms.sort((a, b) => Math.abs(b[1]) - Math.abs(a[1]));
    return {
      label: this.classes[chosen],
      against,
      predicted: columns.map((column) => this.classes[column]),
      score: differenceOf(scores),
      intercept: differenceOf(this.intercept),
      sum: words.reduce((sum, [, , contribution]) => sum + contribution, 0),
      terms,
      unknown: [...unknown],
      words: words.map(([start, end, contribution]) => [textOf(start, end), start, end, contribution]),
    };
  }

  // --- scores -----------------------------------------------------------------------------------

  scores(text) {
    const scores = Float64Array.from(this.intercept);
    const m = this.classes.length;
    for (const part of this.parts) {
      for (const [row, weight] of part.read(text).weights) {
        for (let column = 0; column < m; column += 1) scores[column] += weight * part.weights[row * m + column];
      }
    }
    return scores;
  }

  // null if the model has none, or if the file lacks terms, which would change them
  probabilities(scores) {
    if (!this.calibration || !this.isComplete) return null;
    const logits = Array.from(scores, (score, column) => this.calibration[2 * column] * score + this.calibration[2 * column + 1]);
    if (this.isMultilabel) return logits.map((logit) => 1 / (1 + Math.exp(-logit)));
    if (this.keepsHighest) { // no class is more probable than the predicted one
      const highest = indexOfMaximum(scores);
      const limit = logits[highest] - 1e-6;
      logits.forEach((logit, column) => {
        if (column !== highest) logits[column] = Math.min(logit, limit);
      });
    }
    const maximum = Math.max(...logits);
    const powers = logits.map((logit) => Math.exp(logit - maximum));
    const total = powers.reduce((sum, power) => sum + power, 0);
    return powers.map((power) => power / total);
  }

  predictedColumns(scores) {
    if (!this.thresholds) return [indexOfMaximum(scores)];
    const hasNoTerm = scores.every((score, column) => score === this.intercept[column]);
    return [...scores.keys()].filter((column) => scores[column] > this.thresholds[column]
      && (!hasNoTerm || !this.isFrequent || this.isFrequent[column]));
  }

  // all classes, by descending probability in a multilabel task, else by descending score
  ranked(scores) {
    const probabilities = this.probabilities(scores);
    const keys = this.isMultilabel && probabilities ? probabilities : scores;
    return [...scores.keys()].sort((a, b) => keys[b] - keys[a] || a - b).map((column) => ({
      column,
      label: this.classes[column],
      score: scores[column],
      probability: probabilities ? probabilities[column] : null,
    }));
  }

  columnOf(label) {
    const column = this.classes.indexOf(label);
    if (column < 0) throw new Error(`unknown class '${label}'`);
    return column;
  }

  // --- words ------------------------------------------------------------------------------------

  // the weights of a word: [[class, weight], ...]
  profile(term) {
    const [part] = this.parts;
    const row = part.rowOf.get(term);
    if (row === undefined) return null;
    const m = this.classes.length;
    return this.classes.map((name, column) => [name, part.weights[row * m + column]]);
  }

  // the n words with the most similar weights: [[term, cosine], ...]
  nearest(term, n) {
    const [part] = this.parts;
    const row = part.rowOf.get(term);
    const m = this.classes.length;
    const profile = part.weights.subarray(row * m, (row + 1) * m);
    const length = Math.hypot(...profile) || 1;
    const cosines = [];
    for (let other = 0; other < part.terms.length; other += 1) {
      if (other === row) continue;
      let product = 0;
      let sumOfSquares = 0;
      for (let column = 0; column < m; column += 1) {
        const weight = part.weights[other * m + column];
        product += weight * profile[column];
        sumOfSquares += weight * weight;
      }
      cosines.push([part.terms[other], product / (length * (Math.sqrt(sumOfSquares) || 1))]);
    }
    return cosines.sort((a, b) => b[1] - a[1]).slice(0, n);
  }

  // the term that the analyzer makes of a word, or the word itself if there are several
  termOf(word) {
    const [part] = this.parts;
    if (part.rowOf.has(word) || !part.isWords) return word;
    const tokens = new Set(part.tokens(word).map(({ token }) => token));
    return tokens.size === 1 ? [...tokens][0] : word;
  }

  // contributions of spans, summed by word, or by stretch of visible characters outside of words
  mergeIntoWords(contributions, text) {
    const [part] = this.parts;
    const words = part.isWords ? part.tokens(text).map(({ start, end }) => [start, end]) : [];
    const holders = [...words, ...visibleSpans(text, this.characters)];
    const sums = new Map();
    for (const [key, contribution] of contributions) {
      const [start, end] = key.split(",").map(Number);
      const holder = holders.find(([first, last]) => first <= start && end <= last) ?? [start, end];
      const holderKey = holder.join();
      sums.set(holderKey, (sums.get(holderKey) ?? 0) + contribution);
    }
    return [...sums].map(([key, sum]) => [...key.split(",").map(Number), sum]).sort((a, b) => a[0] - b[0]);
  }
}

const withoutColumn = ({ label, score, probability }) => ({ label, score, probability });

function indexOfMaximum(values) {
  let best = 0;
  for (let k = 1; k < values.length; k += 1) if (values[k] > values[best]) best = k;
  return best;
}

// stretches of visible characters, in code points
function visibleSpans(text, characters) {
  const spans = [];
  let unit = 0;
  let point = 0;
  for (const match of text.matchAll(characters.visible)) {
    point += Array.from(text.slice(unit, match.index)).length;
    const size = Array.from(match[0]).length;
    spans.push([point, point + size]);
    point += size;
    unit = match.index + match[0].length;
  }
  return spans;
}
