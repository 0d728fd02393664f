// What all compiled files share: threads that can be interrupted, arrays, checks of what comes from
// Python, and UTF-8.

#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nb = nanobind;

using std::int32_t, std::int64_t, std::ptrdiff_t, std::size_t;
using std::uint16_t, std::uint32_t, std::uint64_t, std::uint8_t;

// Bytes of words are read as numbers, sizes are multiplied, and numbers are numpy's.
static_assert(CHAR_BIT == 8 && sizeof(size_t) == 8 && sizeof(int) == 4, "64-bit systems only");
static_assert(sizeof(float) == 4 && std::numeric_limits<float>::is_iec559, "expected IEEE floats");
static_assert(sizeof(double) == 8 && std::numeric_limits<double>::is_iec559,
              "expected IEEE doubles");
#if defined(__BYTE_ORDER__)
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "little-endian systems only");
#elif !defined(_WIN32)
#error "the order of bytes is not known"
#endif

// Each part has a namespace of its own: nanobind tells types apart by their names.
namespace engine {
void bind(nb::module_ module);
}
namespace text_reader {
void bind(nb::module_ module);
}
namespace solver {
void bind(nb::module_ module);
void bind_sparse_products(nb::module_ module);
}  // namespace solver
namespace convolution {
void bind(nb::module_ module);
}
namespace pte {
void bind(nb::module_ module);
}

// --- memory --------------------------------------------------------------------------------------

// Begin to load memory that is needed soon, where the compiler knows how. (Of a function that does
// nothing else, GCC would leave out the calls; the empty instruction forbids it.)
inline void prefetch([[maybe_unused]] const void* memory) {
#if defined(__GNUC__)
    __builtin_prefetch(memory);
    asm volatile("");
#endif
}

// The same for memory that is needed a little later: into the second cache, for which many more
// lines can be on their way at once.
inline void prefetch_early([[maybe_unused]] const void* memory) {
#if defined(__GNUC__)
    __builtin_prefetch(memory, 0, 2);
    asm volatile("");
#endif
}

// Memory that is not set to anything; for `std::free`. Much of it comes in large pages, where the
// system has them: a processor knows the addresses of few pages, and tables are read all over.
void* allocate_bytes(size_t n_bytes);

// The same for the containers of the standard library.
template <typename T>
struct Allocator {
    using value_type = T;
    Allocator() = default;
    template <typename Other>
    explicit Allocator(const Allocator<Other>&) {}
    T* allocate(size_t n) { return static_cast<T*>(allocate_bytes(n * sizeof(T))); }
    void deallocate(T* memory, size_t) { std::free(memory); }
    bool operator==(const Allocator&) const { return true; }
    bool operator!=(const Allocator&) const { return false; }
};

// --- threads -------------------------------------------------------------------------------------

// Looks up from the work now and then: has someone pressed Ctrl-C, or has another thread failed?
// One belongs to one thread. Python is asked by the main thread only, as only there signals are
// handled, and a few times per second only, as it takes the GIL.
class Watch {
public:
    // Of work that the calling thread does alone.
    Watch();
    // Of one of several threads; they stop when `is_over` becomes true.
    Watch(const std::atomic<bool>* is_over, bool polls_python);

    // To be called in every long loop: so many steps of about a nanosecond are done. Throws where
    // the work is to end.
    void add_steps(size_t n_steps) {
        n_steps_ += n_steps;
        if (n_steps_ >= STEPS_PER_POLL) poll();
    }

private:
    static constexpr size_t STEPS_PER_POLL = size_t{1} << 18;

    void poll();

    const std::atomic<bool>* is_over_;
    bool polls_python_;
    size_t n_steps_ = 0;
    std::chrono::steady_clock::time_point last_poll_ = std::chrono::steady_clock::now();
};

// The number of threads to use for so many tasks.
size_t limit_threads(int64_t asked, size_t n_tasks);

// Do the work for 0 .. n-1, each in a thread of its own, 0 in the calling one, which must not hold
// the GIL. When one fails, cannot start or is interrupted, all end, and the first error is thrown.
void run_in_threads(size_t n, const std::function<void(size_t, Watch&)>& work);

// Marks an object that is changed without the GIL; a second thread is refused.
class ExclusiveUse {
public:
    explicit ExclusiveUse(std::atomic<bool>& is_taken) : is_taken_(is_taken) {
        if (is_taken.exchange(true)) throw nb::value_error("another thread is using this object");
    }
    ExclusiveUse(const ExclusiveUse&) = delete;
    ~ExclusiveUse() { is_taken_ = false; }

private:
    std::atomic<bool>& is_taken_;
};

// --- arrays --------------------------------------------------------------------------------------

template <typename T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <typename T>
using Table = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <typename T>
using Array = nb::ndarray<nb::numpy, T>;

// How many values an array of this shape has.
inline size_t product(const std::vector<size_t>& shape) {
    size_t n = 1;
    for (const size_t size : shape) {
        if (size != 0 && n > std::numeric_limits<size_t>::max() / 16 / size)
            throw nb::value_error("an array would be too large for any memory");
        n *= size;
    }
    return n;
}

// Memory that numpy will own; not set to anything.
template <typename T>
class Output {
public:
    template <typename... Sizes>
    explicit Output(size_t first, Sizes... more)
        : shape_{first, size_t(more)...},
          values_(static_cast<T*>(allocate_bytes(product(shape_) * sizeof(T)))) {}

    T* data() { return values_.get(); }

    Array<T> to_numpy() {
        nb::capsule owner(values_.get(), [](void* memory) noexcept { std::free(memory); });
        return Array<T>(values_.release(), shape_.size(), shape_.data(), owner);
    }

private:
    std::vector<size_t> shape_;
    struct Free {
        void operator()(T* memory) const { std::free(memory); }
    };

    std::unique_ptr<T[], Free> values_;
};

// A vector that numpy will own.
template <typename T>
Array<T> to_numpy(std::vector<T>&& values) {
    auto kept = std::make_unique<std::vector<T>>(std::move(values));
    const size_t size = kept->size();
    nb::capsule owner(kept.get(),
                      [](void* memory) noexcept { delete static_cast<std::vector<T>*>(memory); });
    return Array<T>(kept.release()->data(), 1, &size, owner);
}

// A sparse matrix as scipy stores it.
template <typename Value>
struct Csr {
    Output<Value> values;
    Output<int32_t> columns;
    Output<int64_t> ends;

    nb::tuple to_numpy() {
        return nb::make_tuple(values.to_numpy(), columns.to_numpy(), ends.to_numpy());
    }
};

// --- checks --------------------------------------------------------------------------------------

inline void check(bool is_right, const char* message) {
    if (!is_right) throw nb::value_error(message);
}

// Every index is one of 0 .. n-1.
void check_indices(const Vector<int32_t>& indices, size_t n);

// A sparse matrix with n_columns: row k is indices[ends[k]] .. indices[ends[k + 1] - 1].
void check_csr(const Vector<int64_t>& ends, const Vector<int32_t>& indices, size_t n_columns);

// --- hashes --------------------------------------------------------------------------------------

// Odd multipliers that every process draws anew, so that nobody can choose words that collide.
struct HashSeeds {
    uint64_t first, second;
};
extern HashSeeds hash_seeds;

// Every bit counts for the upper bits of the result, which are the ones to use.
inline uint64_t mix(uint64_t low, uint64_t high) {
    const uint64_t sum = low * hash_seeds.first + high * hash_seeds.second;
    return (sum ^ (sum >> 32)) * hash_seeds.first;
}

inline uint64_t hash_bytes(const char* bytes, size_t size) {
    uint64_t hash = size;
    for (size_t i = 0; i < size; i += 8) {
        uint64_t eight = 0;
        std::memcpy(&eight, bytes + i, std::min<size_t>(8, size - i));
        hash = mix(hash ^ eight, i);
        hash ^= hash >> 32;
    }
    return hash;
}

// --- products ------------------------------------------------------------------------------------

// Loops over numbers side by side are compiled twice, and the wider ones taken where the machine
// has them. These have no fused operations, so that both find the same bits.
// Not under the sanitizer of threads, which starts after the choice is made; not tried there.
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__GLIBC__) && \
    !defined(__SANITIZE_THREAD__)
#define SIMD_CLONES __attribute__((target_clones("avx2", "default")))
#else
#define SIMD_CLONES
#endif

// Add the rows (m) of a table that `columns` name, times their values, to sums (m): one after the
// other, so that the sums do not depend on how many are taken together.
void add_weighted_rows(const double* values, const int32_t* columns, int64_t n, const float* table,
                       float* sums, size_t m);

// Begin to load the first of these rows, so that something else can be done before.
void prefetch_weighted_rows(const int32_t* columns, int64_t n, const float* table, size_t m);

// --- UTF-8 ---------------------------------------------------------------------------------------

// Whether bytes are UTF-8 as Python means it: no overlong forms, surrogates or loose bytes.
bool is_utf8(std::string_view text);

// Write one character; returns its number of bytes, at most 4.
inline size_t write_utf8(char* out, uint32_t c) {
    if (c < 0x80) {
        out[0] = char(c);
        return 1;
    }
    if (c < 0x800) {
        out[0] = char(0xC0 | (c >> 6));
        out[1] = char(0x80 | (c & 0x3F));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = char(0xE0 | (c >> 12));
        out[1] = char(0x80 | ((c >> 6) & 0x3F));
        out[2] = char(0x80 | (c & 0x3F));
        return 3;
    }
    out[0] = char(0xF0 | (c >> 18));
    out[1] = char(0x80 | ((c >> 12) & 0x3F));
    out[2] = char(0x80 | ((c >> 6) & 0x3F));
    out[3] = char(0x80 | (c & 0x3F));
    return 4;
}
