// The terms of a corpus and their counts.

#include "class_sums.h"
#include "occurrence_rows.h"
#include "term_extractor.h"

namespace engine {

// Terms with their ids in no particular order, their document frequencies and term frequencies.
class TermTable {
public:
    size_t n_docs() const { return n_docs_; }

    Array<int64_t> doc_freq() const { return to_numpy(std::vector<int64_t>(doc_freq_)); }
    Array<int64_t> term_freq() const { return to_numpy(std::vector<int64_t>(term_freq_)); }

    // Sort ids by their terms. UTF-8 has the order of code points. Return (ids, terms).
    nb::tuple sorted(Vector<int64_t> ids) const {
        std::vector<SortKey> keys(ids.size());
        {
            nb::gil_scoped_release no_gil;
            Watch watch;
            for (size_t j = 0; j < ids.size(); ++j) {
                watch.add_steps(100);
                const int64_t id = ids.data()[j];
                if (id < 0 || size_t(id) >= terms_.size())
                    throw nb::value_error("an id is not the id of a term");
                terms_.append_to(keys[j].term, Id(id));
                keys[j].prefix = leading_bytes(keys[j].term);
                keys[j].id = id;
            }
            std::sort(keys.begin(), keys.end(), [&](const SortKey& a, const SortKey& b) {
                watch.add_steps(10);
                return a.prefix != b.prefix ? a.prefix < b.prefix : a.term < b.term;
            });
        }
        Output<int64_t> order(keys.size());
        auto names = nb::steal<nb::list>(PyList_New(Py_ssize_t(keys.size())));
        if (!names.is_valid()) throw nb::python_error();
        for (size_t j = 0; j < keys.size(); ++j) {
            order.data()[j] = keys[j].id;
            const std::string& term = keys[j].term;
            PyObject* name = PyUnicode_FromStringAndSize(term.data(), Py_ssize_t(term.size()));
            if (!name) throw nb::python_error();
            PyList_SET_ITEM(names.ptr(), Py_ssize_t(j), name);
        }
        return nb::make_tuple(order.to_numpy(), names);
    }

protected:
    // A term with its first bytes as a number, which are nearly always enough for a comparison.
    struct SortKey {
        uint64_t prefix;
        int64_t id;
        std::string term;
    };

    static uint64_t leading_bytes(const std::string& term) {
        uint64_t bytes = 0;
        for (size_t k = 0; k < 8; ++k)
            bytes = (bytes << 8) | (k < term.size() ? uint8_t(term[k]) : 0);
        return bytes;
    }

    size_t n_docs_ = 0;
    Dictionary terms_;
    std::vector<int64_t> doc_freq_, term_freq_;
};

// Counts terms without storing documents, for corpora that are read in chunks. Each thread has its
// own dictionary. `finish` merges them.
class TermCounter : public TermTable {
public:
    TermCounter(const Options& options, int64_t n_threads)
        : options_(options),
          parts_(limit_threads(n_threads, SIZE_MAX)) {
        for (Part& part : parts_) part.n_stop_words = add_stop_words(part.terms, options_);
    }
    TermCounter(const TermCounter&) = delete;

    void add(const Documents& documents) {
        const ExclusiveUse turn(is_in_use_);
        check(!parts_.empty(), "the counter is finished, or an earlier call failed");
        nb::gil_scoped_release no_gil;
        const auto shares = split_by_length(documents, int64_t(parts_.size()));
        try {
            run_in_threads(shares.size(), [&](size_t share, Watch& watch) {
                Part& part = parts_[share];
                GrowingLookup growing{part.terms};
                TermExtractor<GrowingLookup> extract_terms(growing, options_, part.n_stop_words,
                                                           watch);
                for (size_t k = shares[share].first; k < shares[share].second; ++k) {
                    ++part.document;
                    extract_terms(documents[k], [&](Id id) { part.add(id); });
                }
            });
        } catch (...) {
            parts_.clear();  // only some of the documents are counted
            throw;
        }
        n_docs_ += documents.size();
    }

    void finish() {
        const ExclusiveUse turn(is_in_use_);
        check(!parts_.empty(), "the counter is finished, or an earlier call failed");
        nb::gil_scoped_release no_gil;
        std::vector<Part> parts = std::exchange(parts_, {});
        Watch watch;
        for (Part& part : parts) {
            // the first dictionary is moved, so with one thread nothing is merged
            std::vector<Id> ids;
            if (terms_.size() == 0 && &part == &parts.front())
                terms_ = std::move(part.terms);
            else
                ids = terms_.add_all(part.terms, watch);
            doc_freq_.resize(terms_.size(), 0);
            term_freq_.resize(terms_.size(), 0);
            for (size_t id = 0; id < std::min(part.tallies.size(), terms_.size()); ++id) {
                if (part.tallies[id].doc_freq == 0) continue;
                const size_t merged = ids.empty() ? id : ids[id];
                doc_freq_[merged] += part.tallies[id].doc_freq;
                term_freq_[merged] += part.tallies[id].term_freq;
            }
        }
    }

private:
    struct Tally {
        uint64_t document = 0;  // the last one with the term, numbered from 1
        int64_t doc_freq = 0, term_freq = 0;
    };

    struct Part {
        Dictionary terms;
        std::vector<Tally> tallies;
        size_t n_stop_words = 0;
        uint64_t document = 0;

        void add(Id id) {
            if (id >= tallies.size())
                tallies.resize(std::max<size_t>(2 * tallies.size(), id + 1024));
            Tally& tally = tallies[id];
            tally.doc_freq += tally.document != document;
            tally.document = document;
            ++tally.term_freq;
        }
    };

    Options options_;
    std::vector<Part> parts_;  // empty after `finish`
    std::atomic<bool> is_in_use_{false};
};

// The terms of every document, as ids. Python chooses which ids become columns.
class CountedTexts : public TermTable {
public:
    CountedTexts(const CountedTexts&) = delete;

    CountedTexts(const Documents& documents, const Options& options, int64_t n_threads) {
        documents.check_total(options.are_characters);
        nb::gil_scoped_release no_gil;
        n_docs_ = documents.size();
        const auto parts = split_by_length(documents, n_threads);
        std::vector<Dictionary> terms(parts.size());
        std::vector<Counter> counters;
        for (const auto& part : parts)
            counters.emplace_back(count_characters(documents, part), options);
        run_in_threads(parts.size(), [&](size_t part, Watch& watch) {
            const size_t n_stop_words = add_stop_words(terms[part], options);
            GrowingLookup growing{terms[part]};
            TermExtractor<GrowingLookup> extract_terms(growing, options, n_stop_words, watch);
            for (size_t k = parts[part].first; k < parts[part].second; ++k) {
                counters[part].begin_document(extract_terms.max_terms(documents[k]));
                extract_terms(documents[k], [&](Id id) { counters[part].add(id); });
                counters[part].end_document();
            }
        });
        merge(terms, counters);
    }

    // The largest number of times that a term occurs in one document.
    uint32_t max_count() const { return max_count_; }

    // Return the occurrences of the terms that have a column. `column_of` has the column of each
    // id, or -1. This consumes the counts, so it works once.
    nb::tuple occurrences(Vector<int32_t> column_of, size_t n_columns) {
        return rows(column_of, n_columns, Counts{});
    }

    // Return the same, weighted by sublinear tf-idf with rows of length 1.
    nb::tuple tfidf_rows(Vector<int32_t> column_of, Vector<double> idf, Vector<double> damped) {
        check(damped.size() > max_count_, "the table of damped counts is too short");
        return rows(column_of, idf.size(), Tfidf(idf, damped));
    }

    // Return sums over documents that are weighted by sublinear tf-idf with rows of length 1,
    // without building the matrix of weights. This consumes the counts, too.
    nb::tuple tfidf_sums(Vector<int32_t> column_of, Vector<double> idf, Vector<double> damped,
                         Vector<int32_t> classes, Vector<int64_t> class_ends, size_t n_classes,
                         bool of_weights, bool of_documents) {
        check_csr(class_ends, classes, n_classes);
        check(class_ends.size() == n_docs_ + 1,
              "the numbers of documents with labels and of counted documents differ");
        check(damped.size() > max_count_, "the table of damped counts is too short");
        assign_columns(column_of, idf.size());
        ClassSums sums(idf.size(), n_classes, of_weights, of_documents);
        {
            nb::gil_scoped_release no_gil;
            Watch watch;
            const Tfidf weighting(idf, damped);
            WeightedDocument document;
            size_t row = 0;
            for (const Share& share : shares_)
                for (const Chunk& chunk : share.chunks)
                    for (size_t k = 0; k < chunk.ends.size(); ++k, ++row) {
                        const size_t start = k == 0 ? 0 : chunk.ends[k - 1];
                        document.weigh(chunk.entries.data() + start, chunk.ends[k] - start,
                                       *share.column_of, weighting);
                        const int64_t label = class_ends.data()[row];
                        sums.add(document.columns.data(), document.weights.data(), document.size,
                                 classes.data() + label, size_t(class_ends.data()[row + 1] - label),
                                 watch);
                    }
            shares_.clear();
        }
        return sums.to_numpy();
    }

private:
    template <typename Weighting>
    nb::tuple rows(const Vector<int32_t>& column_of, size_t n_columns, const Weighting& weighting) {
        assign_columns(column_of, n_columns);
        auto matrix = [&]() {
            nb::gil_scoped_release no_gil;
            return write_rows(shares_, n_columns, weighting);
        }();
        return matrix.to_numpy();
    }

    // Give every share the columns of its own ids. This works once.
    void assign_columns(const Vector<int32_t>& column_of, size_t n_columns) {
        check(column_of.size() == terms_.size(), "expected one column per term");
        check(n_columns < MAX_TERMS, "there are too many columns");
        for (size_t id = 0; id < column_of.size(); ++id)
            check(column_of.data()[id] >= -1 && column_of.data()[id] < int64_t(n_columns),
                  "a column is out of range");
        check(!is_consumed_, "the counts were consumed by an earlier call");
        is_consumed_ = true;
        for (size_t part = 0; part < shares_.size(); ++part) {
            const std::vector<Id>& merged = merged_ids_[part];
            std::vector<int32_t> columns(part == 0 ? terms_.size() : merged.size());
            for (size_t id = 0; id < columns.size(); ++id)
                columns[id] = column_of.data()[part == 0 ? id : merged[id]];
            shares_[part].column_of =
                std::make_shared<const std::vector<int32_t>>(std::move(columns));
        }
    }

    // Merge the dictionaries of all threads into the first, whose ids remain valid.
    void merge(std::vector<Dictionary>& terms, std::vector<Counter>& counters) {
        Watch watch;
        terms_ = std::move(terms[0]);
        merged_ids_.resize(terms.size());
        for (size_t part = 1; part < terms.size(); ++part)
            merged_ids_[part] = terms_.add_all(terms[part], watch);
        doc_freq_.assign(terms_.size(), 0);
        term_freq_.assign(terms_.size(), 0);
        for (size_t part = 0; part < terms.size(); ++part) {
            shares_.push_back({counters[part].release(), {}});
            for (const Chunk& chunk : shares_.back().chunks) {
                watch.add_steps(chunk.size());
                for (size_t entry = 0; entry < chunk.size(); ++entry)
                    max_count_ = std::max(max_count_, chunk.entries[entry].count);
            }
            const size_t n_ids = part == 0 ? terms_.size() : merged_ids_[part].size();
            for (size_t id = 0; id < std::min(n_ids, counters[part].n_marks()); ++id) {
                const size_t merged = part == 0 ? id : merged_ids_[part][id];
                doc_freq_[merged] += counters[part].doc_freq(id);
                term_freq_[merged] += counters[part].term_freq(id);
            }
        }
    }

    std::vector<std::vector<Id>> merged_ids_;  // of each thread except the first
    std::vector<Share> shares_;
    uint32_t max_count_ = 0;
    bool is_consumed_ = false;
};

void bind_counted_texts(nb::module_ module) {
    nb::class_<TermTable>(module, "TermTable")
        .def_prop_ro("n_docs", &TermTable::n_docs)
        .def("doc_freq", &TermTable::doc_freq)
        .def("term_freq", &TermTable::term_freq)
        .def("sorted", &TermTable::sorted);
    nb::class_<CountedTexts, TermTable>(module, "CountedTexts")
        .def(nb::init<const Documents&, const Options&, int64_t>())
        .def_prop_ro("max_count", &CountedTexts::max_count)
        .def("occurrences", &CountedTexts::occurrences)
        .def("tfidf_rows", &CountedTexts::tfidf_rows)
        .def("tfidf_sums", &CountedTexts::tfidf_sums);
    nb::class_<TermCounter, TermTable>(module, "TermCounter")
        .def(nb::init<const Options&, int64_t>())
        .def("add", &TermCounter::add)
        .def("finish", &TermCounter::finish);
}

}  // namespace engine
