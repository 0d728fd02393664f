// Counts and columns of the terms of a fixed vocabulary, and weighted sums of rows.

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>

#include "occurrence_rows.h"
#include "term_extractor.h"

namespace engine {

class FixedVocabulary {
public:
    // `order` is the order of the terms in memory. With frequent terms first, the cache holds the
    // terms that are needed most.
    FixedVocabulary(const std::vector<std::string>& terms, const Options& options,
                    const std::optional<Vector<int64_t>>& order)
        : options_(options) {
        check(terms.size() < MAX_TERMS, "there are 2^31 terms or more");
        check(!order || order->size() == terms.size(), "the order and the terms differ in number");
        n_stop_words_ = add_stop_words(terms_, options);
        std::vector<int32_t> column_of;
        for (size_t k = 0; k < terms.size(); ++k) {
            const size_t column = order ? size_t(order->data()[k]) : k;
            check(column < terms.size(),
                  "the order contains a number that is not the number of a term");
            const Id id = add(terms[column]);
            column_of.resize(terms_.size(), -1);
            column_of[id] = int32_t(column);
        }
        column_of.resize(terms_.size(), -1);
        column_of_ = std::make_shared<const std::vector<int32_t>>(std::move(column_of));
        n_columns_ = terms.size();
    }

    nb::tuple count(const Documents& documents, int64_t n_threads) {
        auto matrix = [&]() {
            nb::gil_scoped_release no_gil;
            const auto parts = split_by_length(documents, n_threads);
            std::vector<Share> shares(parts.size());
            run_in_threads(parts.size(), [&](size_t part, Watch& watch) {
                KnownTermsCounter counter(count_characters(documents, parts[part]), options_);
                KnownTerms known(*this, watch);
                for (size_t k = parts[part].first; k < parts[part].second; ++k) {
                    known.read(documents[k]);
                    const std::vector<Id>& ids = known.ids();
                    counter.begin_document(ids.size());
                    counter.add_all(ids);
                    counter.end_document();
                }
                shares[part] = {counter.release(), column_of_};
            });
            return write_rows(shares, n_columns_, Counts{});
        }();
        return matrix.to_numpy();
    }

    // Return X W + intercept (n x m) for the sublinear tf-idf X of documents, without building X. A
    // document is read, weighted and scored while it is in the cache. Terms are added in the order
    // of their first appearance.
    Array<float> weighted_sums(const Documents& documents, Vector<double> idf,
                               Vector<double> damped, Table<float> weights, Vector<float> intercept,
                               int64_t n_threads) {
        const size_t m = weights.shape(1);
        check(idf.size() == n_columns_ && weights.shape(0) == n_columns_,
              "the numbers of terms, idf values and rows of weights differ");
        check(intercept.size() == m, "the numbers of intercepts and classes differ");
        check(damped.size() > 1, "the table of damped counts is empty");
        const Tfidf weighting(idf, damped);
        n_threads = int64_t(limit_threads(n_threads, documents.size() / DOCS_PER_TASK + 1));
        Output<float> sums(documents.size(), m);
        {
            nb::gil_scoped_release no_gil;
            std::atomic<size_t> next{0};
            run_in_threads(size_t(n_threads), [&](size_t, Watch& watch) {
                KnownTerms known(*this, watch);
                DistinctTerms distinct;
                EntryBuffer entries;
                WeightedDocument document;
                for (size_t k; (k = next.fetch_add(DOCS_PER_TASK)) < documents.size();) {
                    const size_t end = std::min(k + DOCS_PER_TASK, documents.size());
                    known.read(documents[k]);
                    for (; k < end; ++k) {
                        const std::vector<Id>& ids = known.ids();
                        entries.reserve(ids.size(), 0);
                        document.weigh(entries.data(), distinct.count(ids, entries.data()),
                                       *column_of_, weighting);
                        // The rows of this document and the pairs of the next are rarely in the
                        // cache. Each of them is loaded while the other one is used.
                        prefetch_weighted_rows(document.columns.data(), int64_t(document.size),
                                               weights.data(), m);
                        if (k + 1 < end) known.read(documents[k + 1]);
                        float* row = sums.data() + k * m;
                        std::copy_n(intercept.data(), m, row);
                        add_weighted_rows(document.weights.data(), document.columns.data(),
                                          int64_t(document.size), weights.data(), row, m);
                        watch.add_steps((document.size + 1) * (m / 4 + 10));
                    }
                }
            });
        }
        return sums.to_numpy();
    }

    // Return the columns of all tokens (int32, -1 if a token is out-of-vocabulary) and the ends of
    // the documents (int64).
    nb::tuple index(const Documents& documents, int64_t n_threads) {
        check(!options_.are_characters,
              "n-grams of characters have no order in a text; expected words");
        std::vector<std::vector<int32_t>> columns;
        Output<int64_t> ends(documents.size() + 1);
        size_t total = 0;
        {
            nb::gil_scoped_release no_gil;
            const auto parts = split_by_length(documents, n_threads);
            columns.resize(parts.size());
            run_in_threads(parts.size(), [&](size_t part, Watch& watch) {
                FixedLookup fixed{terms_};
                TermExtractor<FixedLookup> extract_terms(fixed, options_, n_stop_words_, watch);
                for (size_t k = parts[part].first; k < parts[part].second; ++k) {
                    extract_terms(documents[k], [&](Id id) {
                        columns[part].push_back(id == NO_ID ? -1 : (*column_of_)[id]);
                    });
                    ends.data()[k + 1] = int64_t(columns[part].size());
                }
            });
            ends.data()[0] = 0;
            for (size_t part = 0; part < parts.size(); ++part) {
                for (size_t k = parts[part].first; k < parts[part].second; ++k)
                    ends.data()[k + 1] += int64_t(total);
                total += columns[part].size();
            }
        }
        Output<int32_t> all(total);
        int32_t* end = all.data();
        for (const auto& part : columns) end = std::copy(part.begin(), part.end(), end);
        return nb::make_tuple(all.to_numpy(), ends.to_numpy());
    }

private:
    // Finds the known terms of documents. Each thread has its own object.
    class KnownTerms {
    public:
        KnownTerms(FixedVocabulary& vocabulary, Watch& watch)
            : fixed_{vocabulary.terms_},
              extract_terms_(fixed_, vocabulary.options_, vocabulary.n_stop_words_, watch) {}

        void read(const Document& document) { extract_terms_.read(document); }

        // Return the known terms of the last document that was read.
        const std::vector<Id>& ids() {
            ids_.clear();
            extract_terms_.for_each_term([&](Id id) {
                if (id != NO_ID) ids_.push_back(id);
            });
            return ids_;
        }

    private:
        FixedLookup fixed_;
        TermExtractor<FixedLookup> extract_terms_;
        std::vector<Id> ids_;
    };

    // Add a term. A term with spaces is an n-gram, whose words are added without a column.
    Id add(const std::string& term) {
        if (options_.are_characters) return terms_.add_word(Word::of(term.data(), term.size()));
        Id id = NO_ID;
        for (size_t start = 0; start <= term.size();) {
            const size_t end = std::min(term.find(' ', start), term.size());
            const Id word = terms_.add_word(Word::of(term.data() + start, end - start));
            id = id == NO_ID ? word : terms_.add_pair(id, word);
            start = end + 1;
        }
        return id;
    }

    static constexpr size_t DOCS_PER_TASK = 64;

    Options options_;
    Dictionary terms_;
    std::shared_ptr<const std::vector<int32_t>> column_of_;
    size_t n_columns_ = 0, n_stop_words_ = 0;
};

void bind_fixed_vocabulary(nb::module_ module) {
    nb::class_<FixedVocabulary>(module, "FixedVocabulary")
        .def(nb::init<const std::vector<std::string>&, const Options&,
                      const std::optional<Vector<int64_t>>&>(),
             nb::arg("terms"), nb::arg("options"), nb::arg("order") = nb::none())
        .def("count", &FixedVocabulary::count)
        .def("weighted_sums", &FixedVocabulary::weighted_sums)
        .def("index", &FixedVocabulary::index);
}

}  // namespace engine
