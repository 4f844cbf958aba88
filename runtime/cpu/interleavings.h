// For tests of algorithms that use atomics: runs a small program of several
// threads in every order that the steps of its threads may take, on a model of
// memory. On a real machine an error of such an algorithm shows once in
// millions of steps or never.
//
// The program is written for std::atomic but uses the types of ModelAtomics.
// Each access is a step. Reordering of accesses by the compiler is not part of
// the model. WaitWhile and NotifyAll model std::atomic's wait and notify_all: a
// thread is woken only if it had announced that it sleeps before the other
// thread called NotifyAll.
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
  // waits in a buffer of its thread, which other threads do not see, and
  // reaches
  // memory at any later time, in order; an operation that reads and writes
  // empties the buffer first. There are many more orders to run.
  kX86,
};

// One program, made anew for each order. The state of a thread must follow from
// the values it has read through ModelAtomics since it last called ForgetPast;
// after WaitWhile, from the value that it waited for and the argument of
// ForgetPast. Of several orders that lead to the same state, only the first is
// continued.
class InterleavedProgram {
 public:
  virtual ~InterleavedProgram() = default;
  // The number of threads, at most 4.
  virtual int threads() const = 0;
  // The code of thread `thread`, numbered from 0. It runs on a stack of 64 KiB
  // that may be abandoned at any step: it must own no memory and hold no lock.
  virtual void Run(int thread) = 0;
  // A digest of the program's variables outside of ModelAtomics.
  virtual size_t State() const { return 0; }
};

struct InterleavingResult {
  // The error of the first order that failed; empty if none did.
  std::string error;
  // The number of different states of memory and threads that were reached.
  int64_t states = 0;
  // The number of orders that were run, each from the beginning.
  int64_t orders = 0;
};

// Runs all orders, or up to the first that fails: one in which a thread calls
// FailInterleaving, or in which all threads that have not returned sleep. Not
// thread-safe. Does not work under sanitizers, which cannot follow changes of
// stacks.
InterleavingResult RunInterleavings(
    const std::function<std::unique_ptr<InterleavedProgram>()>& make,
    StoreBuffers buffers);

// Called by a thread of a program: ends the order that is running, with an
// error.
void FailInterleaving(const std::string& error);

// Called by a thread of a program to declare that the rest of its run depends
// on `state` and on no value that it has read before.
void ForgetPast(uint64_t state);

// Memory of the model as words of 64 bits. Addresses are numbers, given in the
// order in which Add is called.
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

  // Memory that is not atomic. A read or a write is one step, although on a
  // machine a read may come in the middle of a write.
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
