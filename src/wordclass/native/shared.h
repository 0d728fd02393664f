// Declarations that all native files share: memory, interruptible threads, arrays, validation and
// UTF-8.

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

// Words are read as numbers, sizes are multiplied, and numbers have the formats of numpy.
static_assert(CHAR_BIT == 8 && sizeof(size_t) == 8 && sizeof(int) == 4, "64-bit systems only");
static_assert(sizeof(float) == 4 && std::numeric_limits<float>::is_iec559, "expected IEEE floats");
static_assert(sizeof(double) == 8 && std::numeric_limits<double>::is_iec559,
              "expected IEEE doubles");
#if defined(__BYTE_ORDER__)
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "little-endian systems only");
#elif !defined(_WIN32)
#error "the order of bytes is not known"
#endif

// Each submodule has its own namespace, because nanobind identifies types by their names.
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

// Start loading memory that is needed soon, if the compiler supports it. (GCC would omit calls of a
// function that does nothing else. The empty instruction prevents this.)
inline void prefetch([[maybe_unused]] const void* memory) {
#if defined(__GNUC__)
    __builtin_prefetch(memory);
    asm volatile("");
#endif
}

// The same for memory that is needed a little later. It is loaded into the second cache, for which
// many more lines can be in transit at once.
inline void prefetch_early([[maybe_unused]] const void* memory) {
#if defined(__GNUC__)
    __builtin_prefetch(memory, 0, 2);
    asm volatile("");
#endif
}

// Allocate uninitialized memory, to be released by `std::free`. Large blocks use large pages if the
// system has them, because a processor caches the addresses of few pages and tables are read
// in random order.
void* allocate_bytes(size_t n_bytes);

// An allocator with the same memory for the containers of the standard library.
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

// Checks during long work whether the user pressed Ctrl-C or another thread failed. Each thread has
// its own object. Only the main thread asks Python, because only it handles signals. It asks a few
// times per second, because asking takes the GIL.
class Watch {
public:
    // For work that the calling thread does alone.
    Watch();
    // For one of several threads, which stop when `is_over` becomes true.
    Watch(const std::atomic<bool>* is_over, bool polls_python);

    // Record finished steps of about a nanosecond each. Every long loop calls this. It throws if
    // the work should end.
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

// Return the number of threads to use for a number of tasks.
size_t limit_threads(int64_t requested, size_t n_tasks);

// Call work(0) .. work(n-1), each in its own thread and the first in the calling thread, which must
// not hold the GIL. If one fails, cannot start or is interrupted, all stop, and the first error is
// thrown.
void run_in_threads(size_t n, const std::function<void(size_t, Watch&)>& work);

// Marks an object that is changed without the GIL. It throws if a second thread uses the object.
class ExclusiveUse {
public:
    explicit ExclusiveUse(std::atomic<bool>& is_in_use) : is_in_use_(is_in_use) {
        if (is_in_use.exchange(true)) throw nb::value_error("another thread is using this object");
    }
    ExclusiveUse(const ExclusiveUse&) = delete;
    ~ExclusiveUse() { is_in_use_ = false; }

private:
    std::atomic<bool>& is_in_use_;
};

// --- arrays --------------------------------------------------------------------------------------

template <typename T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <typename T>
using Table = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <typename T>
using Array = nb::ndarray<nb::numpy, T>;

// Return the number of values of an array.
inline size_t product(const std::vector<size_t>& shape) {
    size_t n = 1;
    for (const size_t size : shape) {
        if (size != 0 && n > std::numeric_limits<size_t>::max() / 16 / size)
            throw nb::value_error("the size of an array exceeds any memory");
        n *= size;
    }
    return n;
}

// An uninitialized array, which is handed over to numpy.
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

// Hand a vector over to numpy.
template <typename T>
Array<T> to_numpy(std::vector<T>&& values) {
    auto moved = std::make_unique<std::vector<T>>(std::move(values));
    const size_t size = moved->size();
    nb::capsule owner(moved.get(),
                      [](void* memory) noexcept { delete static_cast<std::vector<T>*>(memory); });
    return Array<T>(moved.release()->data(), 1, &size, owner);
}

// A sparse matrix in the format of scipy.
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

inline void check(bool is_valid, const char* message) {
    if (!is_valid) throw nb::value_error(message);
}

// Check that every index is one of 0 .. n-1.
void check_indices(const Vector<int32_t>& indices, size_t n);

// Check a sparse matrix whose row k is indices[ends[k]] .. indices[ends[k + 1] - 1].
void check_csr(const Vector<int64_t>& ends, const Vector<int32_t>& indices, size_t n_columns);

// --- hashes --------------------------------------------------------------------------------------

// Random odd multipliers per process, so that nobody can choose words with colliding hashes.
struct HashSeeds {
    uint64_t first, second;
};
extern HashSeeds hash_seeds;

// Return a hash whose upper bits depend on every bit of the input. Use the upper bits.
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

// Loops over arrays are compiled twice, and the wider version is used if the processor supports it.
// Neither has fused operations, so both compute the same bits. The thread sanitizer is incompatible
// with this, because it starts after the choice.
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__GLIBC__) && \
    !defined(__SANITIZE_THREAD__)
#define SIMD_CLONES __attribute__((target_clones("avx2", "default")))
#else
#define SIMD_CLONES
#endif

// Add the rows (m) of a table with the numbers `columns`, multiplied by `values`, to sums (m). The
// order of additions does not depend on the number of rows per step.
void add_weighted_rows(const double* values, const int32_t* columns, int64_t n, const float* table,
                       float* sums, size_t m);

// Prefetch the first of these rows, so that the caller can do other work in between.
void prefetch_weighted_rows(const int32_t* columns, int64_t n, const float* table, size_t m);

// --- UTF-8 ---------------------------------------------------------------------------------------

// Return true for valid UTF-8 in the sense of Python: no overlong forms, surrogates or stray bytes.
bool is_utf8(std::string_view text);

// Write a character and return its number of bytes, which is at most 4.
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
