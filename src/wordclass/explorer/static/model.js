// A linear model in the browser: cuts a text into terms as wordclass does, weighs them, adds them up.

// Characters as the Python that wrote this page has them: `\w`, `\s`, toLowerCase and trim of a
// browser follow other versions of Unicode, or other definitions.
export class Characters {
  constructor(tables) {
    const word = `[${listed(tables.word)}]`;
    const edge = `(?:(?<=${word})(?!${word})|(?<!${word})(?=${word}))`;
    this.number = new RegExp(`(?<!${word})[0-9][0-9.,-]*${edge}`, "gu");
    this.token = new RegExp(`${word}{2,}`, "gu");
    this.run = new RegExp(`${word}+`, "gu");
    // U+0000 and lone surrogates are white space, as in wordclass
    this.visible = new RegExp(`[^${listed(tables.space)}\\u{0}\\u{d800}-\\u{dfff}]+`, "gu");
    this.cased = new RegExp(`^[${listed(tables.cased)}]$`, "u");
    this.ignorable = new RegExp(`^[${listed(tables.case_ignorable)}]$`, "u");
    this.lowerOf = new Map(Object.entries(tables.lower));
  }

  // the lower case of one of many letters
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

  // whether a word stands in a text, between characters that are none of a word
  hasWord(text, word) {
    return Array.from(this.lower(text).matchAll(this.run)).some((match) => match[0] === word);
  }
}

const SIGMA = "\u03a3";
const FINAL_SIGMA = "\u03c2";

// ranges of code points, as they stand between the brackets of a regular expression
function listed(bounds) {
  const escaped = bounds.map((code) => `\\u{${code.toString(16)}}`);
  const ranges = [];
  for (let k = 0; k < escaped.length; k += 2) ranges.push(`${escaped[k]}-${escaped[k + 1]}`);
  return ranges.join("");
}

export function decoded(text) {
  const bytes = Uint8Array.from(atob(text), (each) => each.charCodeAt(0));
  return new Float32Array(bytes.buffer);
}

// the text that is searched for words, and where each of its code units comes from (in code points)
function folded(text, masks, characters) {
  const letters = [];
  const places = [];
  let place = 0; // in code points
  const copy = (piece) => {
    for (const letter of piece) { letters.push(letter); places.push([place, place + 1]); place += 1; }
  };
  let last = 0;
  for (const match of masks ? text.matchAll(characters.number) : []) {
    copy(text.slice(last, match.index));
    const end = place + match[0].length; // of ASCII
    for (const letter of "numbermask") { letters.push(letter); places.push([place, end]); }
    place = end;
    last = match.index + match[0].length;
  }
  copy(text.slice(last));
  const changed = [];
  const starts = [];
  const ends = [];
  letters.forEach((_, at) => {
    const lower = characters.lowerAt(letters, at);
    changed.push(lower);
    for (let k = 0; k < lower.length; k += 1) { starts.push(places[at][0]); ends.push(places[at][1]); }
  });
  return { changed: changed.join(""), starts, ends };
}

export function words(text, options, characters) {
  const { changed, starts, ends } = folded(text, options.mask_numbers, characters);
  const dropped = new Set(options.stop_words);
  const found = [];
  for (const match of changed.matchAll(characters.token)) {
    if (dropped.has(match[0])) continue;
    const end = match.index + match[0].length - 1;
    found.push({ token: match[0], start: starts[match.index], end: ends[end] });
  }
  return found;
}

// occurrences of terms: [term, the places of its words]
export function* wordTerms(tokens, [shortest, longest]) {
  for (let size = shortest; size <= longest; size += 1) {
    for (let first = 0; first + size <= tokens.length; first += 1) {
      const own = tokens.slice(first, first + size);
      yield [own.map((each) => each.token).join(" "), own.map((each) => [each.start, each.end])];
    }
  }
}

export function* characterTerms(text, [shortest, longest], characters) {
  const { changed, starts, ends } = folded(text, false, characters);
  for (const match of changed.matchAll(characters.visible)) {
    const letters = Array.from(match[0]);
    const places = [];
    let at = match.index;
    for (const letter of letters) { places.push([starts[at], ends[at + letter.length - 1]]); at += letter.length; }
    const padded = [" ", ...letters, " "];
    for (let n = shortest; n <= Math.max(shortest, Math.min(longest, padded.length)); n += 1) {
      for (let start = 0; start <= Math.max(padded.length - n, 0); start += 1) {
        const end = Math.min(start + n, padded.length);
        const inside = places.slice(Math.max(start - 1, 0), end - 1);
        yield [padded.slice(start, end).join(""), inside.length ? inside : places];
      }
    }
  }
}

class Part {
  constructor(facts, nClasses, characters) {
    this.options = facts;
    this.characters = characters;
    this.terms = facts.terms;
    this.rowOf = new Map(facts.terms.map((term, row) => [term, row]));
    this.weights = decoded(facts.weights);
    this.nClasses = nClasses;
    this.idf = facts.doc_freq.map((n) => Math.log((1 + facts.n_docs) / (1 + n)) + 1);
  }

  // what each known term of a text weighs, where it is, and which words are not known
  read(text) {
    const isWords = this.options.kind === "words";
    const tokens = isWords ? words(text, this.options, this.characters) : [];
    const found = new Map();
    const missing = new Set();
    const cut = isWords ? wordTerms(tokens, this.options.ngrams) : characterTerms(text, this.options.ngrams, this.characters);
    for (const [term, places] of cut) {
      const row = this.rowOf.get(term);
      if (row === undefined) {
        if (!term.includes(" ")) missing.add(term);
        continue;
      }
      if (!found.has(row)) found.set(row, []);
      found.get(row).push(places);
    }
    let square = 0;
    const weights = new Map();
    for (const [row, places] of found) {
      const weight = (1 + Math.log(places.length)) * this.idf[row];
      weights.set(row, weight);
      square += weight * weight;
    }
    const length = Math.sqrt(square) || 1;
    for (const [row, weight] of weights) weights.set(row, weight / length);
    return { found, weights, missing };
  }
}

export class LocalModel {
  constructor(facts, classes, tables) {
    this.facts = facts;
    this.classes = classes;
    this.characters = new Characters(tables);
    this.parts = facts.parts.map((part) => new Part(part, classes.length, this.characters));
    this.intercept = facts.intercept;
    this.nCarried = this.parts.reduce((sum, part) => sum + part.terms.length, 0);
  }

  scores(text) {
    const scores = Float64Array.from(this.intercept);
    const m = this.classes.length;
    for (const part of this.parts) {
      for (const [row, weight] of part.read(text).weights) {
        for (let j = 0; j < m; j += 1) scores[j] += weight * part.weights[row * m + j];
      }
    }
    return scores;
  }

  probabilities(scores) {
    const { calibration, is_single: isSingle } = this.facts;
    if (!calibration) return null;
    const stretched = calibration.map(([slope, offset], j) => slope * scores[j] + offset);
    if (!isSingle) return stretched.map((each) => 1 / (1 + Math.exp(-each)));
    if (this.facts.keeps_highest) { // no class is more probable than the predicted one
      const highest = scores.indexOf(Math.max(...scores));
      const limit = stretched[highest] - 1e-6;
      stretched.forEach((each, j) => { if (j !== highest) stretched[j] = Math.min(each, limit); });
    }
    const most = Math.max(...stretched);
    const powers = stretched.map((each) => Math.exp(each - most));
    const total = powers.reduce((a, b) => a + b, 0);
    return powers.map((each) => each / total);
  }

  predicted(scores) {
    const { thresholds, is_frequent: isFrequent } = this.facts;
    const isEmpty = scores.every((score, j) => score === this.intercept[j]);
    const isGiven = (j) => thresholds[j] !== null && scores[j] > thresholds[j] && (!isEmpty || !isFrequent || isFrequent[j]);
    if (thresholds) return this.classes.filter((_, j) => isGiven(j));
    return [this.classes[scores.indexOf(Math.max(...scores))]];
  }

  predict(text, k) {
    const scores = this.scores(text);
    const shares = this.probabilities(scores);
    const isByShare = shares && !this.facts.is_single;
    const order = [...scores.keys()].sort((a, b) => (isByShare ? shares[b] - shares[a] : scores[b] - scores[a]) || a - b);
    return order.slice(0, k).map((j) => ({
      label: this.classes[j], probability: shares ? shares[j] : null, score: scores[j],
    }));
  }

  explain(text, label = null, against = null) {
    const scores = this.scores(text);
    const predicted = this.predicted(scores);
    const labels = predicted.length ? predicted : [this.classes[scores.indexOf(Math.max(...scores))]];
    const chosen = label ?? labels.reduce((a, b) => (scores[this.classes.indexOf(b)] > scores[this.classes.indexOf(a)] ? b : a));
    const m = this.classes.length;
    const signs = [[this.classes.indexOf(chosen), 1]];
    if (against) signs.push([this.classes.indexOf(against), -1]);
    const valueOf = (values) => signs.reduce((sum, [j, sign]) => sum + sign * values[j], 0);
    const terms = [];
    const shares = new Map(); // of stretches of the text
    let missing = new Set();
    this.parts.forEach((part, number) => {
      const read = part.read(text);
      if (!number) missing = read.missing;
      for (const [row, weight] of read.weights) {
        const added = weight * signs.reduce((sum, [j, sign]) => sum + sign * part.weights[row * m + j], 0);
        if (!number) terms.push([part.terms[row], added]);
        const occurrences = read.found.get(row);
        for (const places of occurrences) {
          for (const [start, end] of places) {
            const key = `${start},${end}`;
            shares.set(key, (shares.get(key) ?? 0) + added / (occurrences.length * places.length));
          }
        }
      }
    });
    const letters = Array.from(text);
    const stretches = joined([...shares].map(([key, added]) => [...key.split(",").map(Number), added]), text, this.parts[0]);
    const sum = stretches.reduce((total, [, , added]) => total + added, 0);
    if (this.parts.length > 1) {
      terms.length = 0;
      const byWord = new Map();
      for (const [start, end, added] of stretches) {
        const word = this.characters.lower(letters.slice(start, end).join(""));
        byWord.set(word, (byWord.get(word) ?? 0) + added);
      }
      terms.push(...byWord);
    }
    terms.sort((a, b) => Math.abs(b[1]) - Math.abs(a[1]));
    return {
      label: chosen, against, predicted, score: valueOf(scores), intercept: valueOf(this.intercept), sum,
      terms, missing: [...missing],
      words: stretches.map(([start, end, added]) => [letters.slice(start, end).join(""), start, end, added]),
    };
  }

  // --- words: rows of the first part ----------------------------------------------------------

  profile(term) {
    const part = this.parts[0];
    const row = part.rowOf.get(term);
    if (row === undefined) return null;
    const m = this.classes.length;
    return this.classes.map((name, j) => [name, part.weights[row * m + j]]);
  }

  nearest(term, n) {
    const part = this.parts[0];
    const row = part.rowOf.get(term);
    const m = this.classes.length;
    const own = part.weights.subarray(row * m, (row + 1) * m);
    const length = Math.hypot(...own) || 1;
    const found = [];
    for (let other = 0; other < part.terms.length; other += 1) {
      if (other === row) continue;
      let dot = 0;
      let square = 0;
      for (let j = 0; j < m; j += 1) {
        const each = part.weights[other * m + j];
        dot += each * own[j];
        square += each * each;
      }
      found.push([part.terms[other], dot / (length * (Math.sqrt(square) || 1))]);
    }
    return found.sort((a, b) => b[1] - a[1]).slice(0, n);
  }

  written(word) {
    const part = this.parts[0];
    if (part.rowOf.has(word) || part.options.kind !== "words") return word;
    const tokens = new Set(words(word, part.options, this.characters).map((each) => each.token));
    return tokens.size === 1 ? [...tokens][0] : word;
  }
}

// characters and words in one list of stretches that do not overlap: those of words, and single rest
function joined(stretches, text, part) {
  const stretchesOfText = visible(text, part.characters);
  if (part.options.kind !== "words") return merged(stretches, stretchesOfText);
  const own = words(text, part.options, part.characters).map(({ start, end }) => [start, end]);
  return merged(stretches, [...own, ...stretchesOfText]);
}

function visible(text, characters) {
  const found = [];
  let units = 0;
  let points = 0;
  for (const match of text.matchAll(characters.visible)) {
    points += Array.from(text.slice(units, match.index)).length;
    const size = Array.from(match[0]).length;
    found.push([points, points + size]);
    points += size;
    units = match.index + match[0].length;
  }
  return found;
}

function merged(stretches, holders) {
  const sums = new Map();
  for (const [start, end, added] of stretches) {
    const holder = holders.find(([from, to]) => from <= start && end <= to) ?? [start, end];
    const key = `${holder[0]},${holder[1]}`;
    sums.set(key, (sums.get(key) ?? 0) + added);
  }
  return [...sums].map(([key, added]) => [...key.split(",").map(Number), added]).sort((a, b) => a[0] - b[0]);
}
