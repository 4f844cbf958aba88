// Runs a small program of several threads in every order that the steps of its
// threads may take, on a model of memory: tests of algorithms that use atomics,
// whose errors a run on the machine meets once in millions of steps or never.
//
// The program is written for std::atomic, with the types of ModelAtomics in its
// place. Each access is a step. Which accesses a compiler may reorder is not
// part of the model.
// Sleeping is a model of std::atomic's wait and notify_all, in which a thread
// is woken only if it said that it sleeps before the other looked.
#ifndef AITUNE_RUNTIME_CPU_INTERLEAVINGS_H_
#define AITUNE_RUNTIME_CPU_INTERLEAVINGS_H_

#include <atomic>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

namespace aitune {

enum class StoreBuffers {
  // A store reaches memory at once: sequential consistency.
  kNone,
  // As on x86 (total store order): a store that is not sequentially consistent
  // waits in a buffer of its thread, which others do not see, and reaches
  // memory at any later time, in order; an operation that reads and writes
  // empties the buffer first. Many more orders.
  kX86,
};

// One program, made anew for each order. What a thread does must follow from
// what it has read of ModelAtomics since it last called ForgetPast, and after
// WaitWhile from what that waited for and what the thread gave to ForgetPast:
// of orders that lead to one such state, only the first is continued.
class InterleavedProgram {
 public:
  virtual ~InterleavedProgram() = default;
  // The number of threads, at most 4.
  virtual int threads() const = 0;
  // What a thread does, from 0 on. Runs on a stack of 64 KiB that may be given
  // up at any step: it must own no memory and hold no lock.
  virtual void Run(int thread) = 0;
  // A digest of what the program keeps outside of ModelAtomics.
  virtual size_t State() const { return 0; }
};

struct InterleavingResult {
  // What went wrong in the first order in which something did, or empty.
  std::string error;
  // States of memory and threads that were reached; orders that lead to one
  // are continued once.
  int64_t states = 0;
  // Orders that were run, each from the beginning.
  int64_t orders = 0;
};

// Runs all orders, or up to the first that fails: one in which a thread calls
// FailInterleaving, or all threads that have not returned sleep. Not
// thread-safe; not within sanitizers, which do not follow changes of stacks.
InterleavingResult RunInterleavings(
    const std::function<std::unique_ptr<InterleavedProgram>()>& make,
    StoreBuffers buffers);

// Ends the order that the calling thread of a program runs in, with an error.
void FailInterleaving(const std::string& error);

// For a thread of a program: all that it still knows is `state`, and where it
// is follows from that.
void ForgetPast(uint64_t state);

// Memory of the model as words of 64 bits, addressed by numbers given in the
// order of construction.
class ModelMemory {
 public:
  static int Add(uint64_t value);
  static uint64_t Load(int address);
  static void Store(int address, uint64_t value, bool drain);
  // Replaces the value by update(value, operand); returns the one before.
  static uint64_t Update(int address, uint64_t (*update)(uint64_t, uint64_t),
                         uint64_t operand);
  static bool CompareExchange(int address, uint64_t& expected, uint64_t value);
  static void WaitWhile(int address, uint64_t old);
  static void NotifyAll(int address);
};

struct ModelAtomics {
  template <typename T>
  class Atomic {
   public:
    Atomic(T value = T()) : address_(ModelMemory::Add(Word(value))) {}
    Atomic(const Atomic&) = delete;

    T load(std::memory_order) const {
      return Value(ModelMemory::Load(address_));
    }
    void store(T value, std::memory_order order) {
      ModelMemory::Store(address_, Word(value),
                         order == std::memory_order_seq_cst);
    }
    T fetch_add(T operand, std::memory_order) {
      return Value(ModelMemory::Update(
          address_,
          [](uint64_t a, uint64_t b) { return Word(T(Value(a) + Value(b))); },
          Word(operand)));
    }
    T fetch_sub(T operand, std::memory_order) {
      return Value(ModelMemory::Update(
          address_,
          [](uint64_t a, uint64_t b) { return Word(T(Value(a) - Value(b))); },
          Word(operand)));
    }
    bool compare_exchange_weak(T& expected, T value, std::memory_order,
                               std::memory_order) {
      uint64_t word = Word(expected);
      const bool exchanged =
          ModelMemory::CompareExchange(address_, word, Word(value));
      expected = Value(word);
      return exchanged;
    }
    int address() const { return address_; }

   private:
    static uint64_t Word(T value) {
      static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 8);
      uint64_t word = 0;
      std::memcpy(&word, &value, sizeof(T));
      return word;
    }
    static T Value(uint64_t word) {
      T value;
      std::memcpy(&value, &word, sizeof(T));
      return value;
    }

    const int address_;
  };

  // Memory that is not atomic, read and written in one step: where a read may
  // come during a write, it may also come after it.
  template <typename T>
  class Variable {
   public:
    Variable() : index_(IndexOf(T())) {}
    operator T() const {
      return Values()[index_.load(std::memory_order_relaxed)];
    }
    Variable& operator=(const T& value) {
      index_.store(IndexOf(value), std::memory_order_relaxed);
      return *this;
    }

   private:
    // All values that variables of this type have had.
    static std::vector<T>& Values() {
      static std::vector<T> values;
      return values;
    }
    static uint32_t IndexOf(const T& value) {
      static_assert(std::has_unique_object_representations_v<T>);
      std::vector<T>& values = Values();
      uint32_t index = 0;
      while (index < values.size() &&
             std::memcmp(&values[index], &value, sizeof(T)) != 0) {
        ++index;
      }
      if (index == values.size()) values.push_back(value);
      return index;
    }

    Atomic<uint32_t> index_;
  };

  static void WaitWhile(const Atomic<uint32_t>& value, uint32_t old) {
    ModelMemory::WaitWhile(value.address(), old);
  }
  static void NotifyAll(Atomic<uint32_t>& value) {
    ModelMemory::NotifyAll(value.address());
  }
};

}  // namespace aitune

#endif  // AITUNE_RUNTIME_CPU_INTERLEAVINGS_H_
