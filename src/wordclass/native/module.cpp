// The extension module with its five submodules, and the definitions that they share.

#if defined(__unix__) || defined(__APPLE__)
#include <sys/mman.h>
#endif

#include <condition_variable>
#include <exception>
#include <mutex>
#include <new>
#include <stdexcept>
#include <system_error>
#include <thread>

#include "shared.h"

// --- memory --------------------------------------------------------------------------------------

namespace {

constexpr size_t LARGE_PAGE = size_t{1} << 21;

constexpr const char* OUT_OF_MEMORY =
    "the native code could not allocate memory; use fewer documents, classes or terms (a higher "
    "min_docs, shorter n-grams)";

}  // namespace

void* allocate_bytes(size_t n_bytes) {
#if defined(MADV_HUGEPAGE)
    if (n_bytes >= 2 * LARGE_PAGE && n_bytes < std::numeric_limits<size_t>::max() - LARGE_PAGE) {
        const size_t rounded = (n_bytes + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE;
        void* memory = std::aligned_alloc(LARGE_PAGE, rounded);
        if (!memory) throw std::bad_alloc();
        madvise(memory, rounded, MADV_HUGEPAGE);  // the system may ignore this
        return memory;
    }
#endif
    void* memory = std::malloc(std::max<size_t>(n_bytes, 1));
    if (!memory) throw std::bad_alloc();
    return memory;
}

// --- threads -------------------------------------------------------------------------------------

namespace {

constexpr std::chrono::milliseconds SIGNAL_INTERVAL{50};
constexpr size_t MAX_THREADS = 256;

unsigned long main_thread = 0;

// Thrown in threads that stop because another one failed.
struct Stopped {};

// This needs no GIL, which a thread that outlives the interpreter must not request.
bool is_main_thread() { return PyThread_get_thread_ident() == main_thread; }

// Throwing needs some memory per thread, without which glibc aborts the process. Allocate it while
// there is some.
void prepare_to_throw() { static_cast<void>(std::uncaught_exceptions()); }

// Address space for this memory, which is available to a new thread even if others used up the
// rest.
class Reserve {
public:
#if defined(__unix__) || defined(__APPLE__)
    Reserve() : memory_(mmap(nullptr, SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
        if (memory_ == MAP_FAILED) throw std::bad_alloc();
    }
    Reserve(Reserve&& other) : memory_(std::exchange(other.memory_, MAP_FAILED)) {}
    ~Reserve() { release(); }
    void release() {
        if (memory_ != MAP_FAILED) munmap(std::exchange(memory_, MAP_FAILED), SIZE);
    }

private:
    static constexpr size_t SIZE = size_t{1} << 18;
    void* memory_;
#else
    void release() {}
#endif
};

void check_signals() {
    nb::gil_scoped_acquire gil;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

// Threads that work on one task, and their first error.
class Team {
public:
    explicit Team(const std::function<void(size_t, Watch&)>& work) : work_(work) {}

    // Start another thread and return whether that succeeded.
    bool start(size_t part) {
        try {
            threads_.emplace_back([this, part, reserve = Reserve()]() mutable {
                reserve.release();
                run(part, false);
                const std::lock_guard<std::mutex> lock(mutex_);
                ++n_finished_;
                changed_.notify_one();
            });
        } catch (const std::system_error& error) {
            fail(std::make_exception_ptr(
                std::runtime_error(std::string("can't start new thread: ") + error.what())));
        } catch (...) {
            fail(std::current_exception());
        }
        return !is_over_;
    }

    void run(size_t part, bool polls_python) {
        try {
            Watch watch(&is_over_, polls_python);
            work_(part, watch);
        } catch (const Stopped&) {
        } catch (...) {
            fail(std::current_exception());
        }
    }

    void wait(bool polls_python) {
        std::unique_lock<std::mutex> lock(mutex_);
        while (n_finished_ < threads_.size()) {
            if (changed_.wait_for(lock, SIGNAL_INTERVAL) == std::cv_status::no_timeout ||
                !polls_python || is_over_)
                continue;
            lock.unlock();
            try {
                check_signals();
            } catch (...) {
                fail(std::current_exception());
            }
            lock.lock();
        }
        lock.unlock();
        for (std::thread& thread : threads_) thread.join();
        if (error_) std::rethrow_exception(error_);
    }

private:
    void fail(std::exception_ptr error) {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (!error_) error_ = std::move(error);
        is_over_ = true;
    }

    const std::function<void(size_t, Watch&)>& work_;
    std::vector<std::thread> threads_;
    std::atomic<bool> is_over_{false};
    std::mutex mutex_;
    std::condition_variable changed_;
    size_t n_finished_ = 0;
    std::exception_ptr error_;
};

}  // namespace

Watch::Watch() : Watch(nullptr, is_main_thread()) {}

Watch::Watch(const std::atomic<bool>* is_over, bool polls_python)
    : is_over_(is_over),
      polls_python_(polls_python) {
    prepare_to_throw();
}

void Watch::poll() {
    n_steps_ = 0;
    if (is_over_ && is_over_->load(std::memory_order_relaxed)) throw Stopped();
    if (!polls_python_) return;
    const auto now = std::chrono::steady_clock::now();
    if (now - last_poll_ < SIGNAL_INTERVAL) return;
    last_poll_ = now;
    check_signals();
}

size_t limit_threads(int64_t requested, size_t n_tasks) {
    check(requested > 0, "the number of threads is below 1");
    return std::max<size_t>(1, std::min({size_t(requested), n_tasks, MAX_THREADS}));
}

void run_in_threads(size_t n, const std::function<void(size_t, Watch&)>& work) {
    if (n == 1) {
        Watch watch;
        work(0, watch);
        return;
    }
    const bool polls_python = is_main_thread();
    Team team(work);
    bool have_started = true;
    for (size_t part = 1; have_started && part < n; ++part) have_started = team.start(part);
    if (have_started) team.run(0, polls_python);
    team.wait(polls_python);
}

// --- checks --------------------------------------------------------------------------------------

void check_indices(const Vector<int32_t>& indices, size_t n) {
    const int32_t* data = indices.data();
    const auto is_outside = [n](int32_t index) { return index < 0 || size_t(index) >= n; };
    const int32_t* outside = std::find_if(data, data + indices.size(), is_outside);
    if (outside == data + indices.size()) return;
    const std::string problem = "the index " + std::to_string(*outside) + " is out of range";
    throw nb::value_error((problem + "; expected 0 to below " + std::to_string(n)).c_str());
}

void check_csr(const Vector<int64_t>& ends, const Vector<int32_t>& indices, size_t n_columns) {
    check(ends.size() > 0 && ends.data()[0] == 0, "the ends of rows do not start with 0");
    check(std::is_sorted(ends.data(), ends.data() + ends.size()), "the ends of rows decrease");
    check(size_t(ends.data()[ends.size() - 1]) == indices.size(),
          "the last row does not end with the last entry");
    check_indices(indices, n_columns);
}

// --- UTF-8 ---------------------------------------------------------------------------------------

bool is_utf8(std::string_view text) {
    for (size_t i = 0; i < text.size();) {
        const auto lead = uint8_t(text[i]);
        const size_t size = lead < 0x80                   ? 1
                            : lead >= 0xC2 && lead < 0xE0 ? 2
                            : lead >= 0xE0 && lead < 0xF0 ? 3
                            : lead >= 0xF0 && lead < 0xF5 ? 4
                                                          : 0;
        if (size == 0 || size > text.size() - i) return false;
        for (size_t k = 1; k < size; ++k)
            if ((uint8_t(text[i + k]) & 0xC0) != 0x80) return false;
        if (size > 2) {
            const auto second = uint8_t(text[i + 1]);
            const bool is_overlong =
                (lead == 0xE0 && second < 0xA0) || (lead == 0xF0 && second < 0x90);
            const bool is_surrogate = lead == 0xED && second >= 0xA0;
            const bool is_too_large = lead == 0xF4 && second >= 0x90;
            if (is_overlong || is_surrogate || is_too_large) return false;
        }
        i += size;
    }
    return true;
}

// --- hashes --------------------------------------------------------------------------------------

HashSeeds hash_seeds;

// --- the module ----------------------------------------------------------------------------------

NB_MODULE(_native, module) {
    prepare_to_throw();
    nb::register_exception_translator([](const std::exception_ptr& error, void*) {
        try {
            std::rethrow_exception(error);
        } catch (const std::bad_alloc&) {
            PyErr_SetString(PyExc_MemoryError, OUT_OF_MEMORY);
        }
    });
    const nb::object main = nb::module_::import_("threading").attr("main_thread")();
    main_thread = nb::cast<unsigned long>(main.attr("ident"));
    const auto drawn =
        nb::cast<nb::bytes>(nb::module_::import_("os").attr("urandom")(sizeof hash_seeds));
    std::memcpy(&hash_seeds, drawn.c_str(), sizeof hash_seeds);
    hash_seeds.first |= 1;
    hash_seeds.second |= 1;
    engine::bind(module.def_submodule("engine"));
    text_reader::bind(module.def_submodule("text_reader"));
    solver::bind(module.def_submodule("solver"));
    convolution::bind(module.def_submodule("convolution"));
    pte::bind(module.def_submodule("pte"));
}
