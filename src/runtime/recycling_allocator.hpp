#ifndef COLOCK_RUNTIME_RECYCLING_ALLOCATOR_HPP
#define COLOCK_RUNTIME_RECYCLING_ALLOCATOR_HPP

#include <cstddef>
#include <new>

namespace colock::runtime {
namespace detail {

/// Blocks of one size that a thread has freed and will want again: the one freed last first, while it
/// is still in the cache. Keeps a bounded number of them.
template <std::size_t Size>
class block_cache {
public:
    static void* allocate() {
        if (block* const first = first_; first != nullptr) {
            first_ = first->next;
            --count_;
            return first;
        }
        return ::operator new(Size);
    }

    static void deallocate(void* memory) noexcept {
        owner_.know_this_thread();
        if (count_ == most || thread_ended_) {
            ::operator delete(memory);
            return;
        }
        first_ = ::new (memory) block{first_};
        ++count_;
    }

private:
#if defined(__SANITIZE_ADDRESS__)  // which is to see every block come and go
    static constexpr std::size_t most = 0;
#else
    static constexpr std::size_t most = 2048;
#endif

    struct block {
        block* next;
    };

    /// Empties the cache at the end of the thread, after which nothing is kept any more.
    struct owner {
        void know_this_thread() const noexcept {}  // whose first use registers the destructor
        ~owner() {
            thread_ended_ = true;
            while (first_ != nullptr) {
                block* const next = first_->next;
                ::operator delete(first_);
                first_ = next;
            }
        }
    };

    static inline thread_local block* first_ = nullptr;
    static inline thread_local std::size_t count_ = 0;
    static inline thread_local bool thread_ended_ = false;
    static inline thread_local owner owner_;
};

}  // namespace detail

/// For what is made and destroyed once per lock, by `std::allocate_shared`: a block that one thread
/// frees serves the next allocation of the same size on that thread.
template <typename T>
class recycling_allocator {
public:
    using value_type = T;

    recycling_allocator() noexcept = default;
    template <typename U>
    // NOLINTNEXTLINE(*-explicit-*)
    recycling_allocator(const recycling_allocator<U>& /*other*/) noexcept {}

    T* allocate(std::size_t n) {
        static_assert(alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);
        return static_cast<T*>(n == 1 ? detail::block_cache<sizeof(T)>::allocate()
                                      : ::operator new(n * sizeof(T)));
    }

    void deallocate(T* memory, std::size_t n) noexcept {
        if (n == 1) {
            detail::block_cache<sizeof(T)>::deallocate(memory);
        } else {
            ::operator delete(memory);
        }
    }

    template <typename U>
    friend bool operator==(const recycling_allocator& /*a*/,
                           const recycling_allocator<U>& /*b*/) noexcept {
        return true;
    }
};

}  // namespace colock::runtime

#endif
