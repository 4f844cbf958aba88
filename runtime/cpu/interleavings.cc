#include "runtime/cpu/interleavings.h"

#include <ucontext.h>

#include <array>
#include <deque>
#include <unordered_set>
#include <utility>

#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"

namespace aitune {
namespace {

constexpr int kMostThreads = 4;
constexpr size_t kStackBytes = size_t{64} << 10;

// One order of the steps of a program, while it is run.
//
// A transition is one step of a thread, or the oldest store of its buffer
// reaching memory. A thread stands before a step whenever it does not run.
class Order {
 public:
  struct Transition {
    int thread;
    bool drains;  // the buffer's oldest store, rather than a step
  };

  static Order*& Current() {
    static Order* current = nullptr;
    return current;
  }

  Order(std::vector<std::vector<char>>& stacks,
        const std::function<std::unique_ptr<InterleavedProgram>()>& make,
        StoreBuffers buffers)
      : buffers_(buffers) {
    Current() = this;
    program_ = make();
    threads_.resize(program_->threads());
    for (size_t i = 0; i < threads_.size(); ++i) {
      ucontext_t& context = threads_[i].context;
      getcontext(&context);
      context.uc_stack.ss_sp = stacks[i].data();
      context.uc_stack.ss_size = stacks[i].size();
      context.uc_link = &main_;
      makecontext(&context, RunThread, 0);
      Resume(static_cast<int>(i));  // up to its first step
    }
  }

  std::vector<Transition> Possible() const {
    std::vector<Transition> possible;
    for (int i = 0; i < static_cast<int>(threads_.size()); ++i) {
      if (!threads_[i].done && !threads_[i].asleep)
        possible.push_back({i, false});
      if (!threads_[i].buffer.empty()) possible.push_back({i, true});
    }
    return possible;
  }

  void Take(Transition transition) {
    if (transition.drains) {
      DrainOne(threads_[transition.thread]);
    } else {
      Resume(transition.thread);
    }
  }

  // Equal states go on alike: a thread's past is all that it has read.
  std::pair<size_t, size_t> State() const {
    return {HashState(0), HashState(1)};
  }

  std::string Finish() {
    if (!error_.empty()) return error_;
    std::string sleeping;
    for (size_t i = 0; i < threads_.size(); ++i) {
      if (!threads_[i].done) absl::StrAppend(&sleeping, " ", i);
    }
    if (!sleeping.empty()) {
      return absl::StrCat("nobody wakes the threads", sleeping);
    }
    return "";
  }

  const std::string& error() const { return error_; }
  void Fail(const std::string& error) {
    if (error_.empty()) error_ = error;
  }

  // What follows is called by the program's threads, and by its constructor,
  // which is not interleaved with anything.

  int Add(uint64_t value) {
    memory_.push_back({value, 0});
    return static_cast<int>(memory_.size()) - 1;
  }

  uint64_t Load(int address) {
    Step();
    uint64_t value = memory_[address].value;
    for (const Write& write : Self().buffer) {
      if (write.address == address) value = write.value;
    }
    return Remember(value);
  }

  void Store(int address, uint64_t value, bool drain) {
    Step();
    Self().buffer.push_back({address, value});
    if (drain || buffers_ == StoreBuffers::kNone) Drain(Self());
    Remember(0);
  }

  uint64_t Update(int address, uint64_t (*update)(uint64_t, uint64_t),
                  uint64_t operand) {
    Step();
    Drain(Self());
    uint64_t& value = memory_[address].value;
    const uint64_t before = std::exchange(value, update(value, operand));
    return Remember(before);
  }

  bool CompareExchange(int address, uint64_t& expected, uint64_t desired) {
    Step();
    Drain(Self());
    uint64_t& value = memory_[address].value;
    Remember(value);
    if (value != expected) {
      expected = value;
      return false;
    }
    value = desired;
    return true;
  }

  void WaitWhile(int address, uint64_t old) {
    Thread& self = Self();
    SetPast(absl::HashOf(self.kept, address, old));
    const std::array<size_t, 2> past = self.past;
    while (Load(address) == old) {
      Step();
      Drain(Self());
      ++memory_[address].sleepers;
      Remember(0);
      // The system looks at the value once more, and not at the buffer.
      Step();
      if (Remember(memory_[address].value) == old) {
        self.asleep_for = address;
        self.asleep = true;
      }
      Step();
      --memory_[address].sleepers;
      Remember(0);
    }
    // How often it slept is of no consequence.
    self.past = past;
    Remember(1);
  }

  void ForgetPast(uint64_t state) {
    Self().kept = state;
    SetPast(absl::HashOf(state));
  }

  void NotifyAll(int address) {
    const std::array<size_t, 2> past = Self().past;
    Step();
    if (Remember(memory_[address].sleepers) != 0) {
      Step();
      Drain(Self());
      for (Thread& thread : threads_) {
        if (thread.asleep && thread.asleep_for == address) {
          thread.asleep = false;
        }
      }
    }
    Self().past = past;
    Remember(2);
  }

 private:
  struct Word {
    uint64_t value;
    int sleepers;  // threads that have said that they will sleep for it
  };
  struct Write {
    int address;
    uint64_t value;
  };
  struct Thread {
    ucontext_t context;
    std::deque<Write> buffer;
    std::array<size_t, 2> past = {};  // two digests of what it has read
    uint64_t kept = 0;                // given to ForgetPast
    bool done = false, asleep = false;
    int asleep_for = 0;
  };

  static void RunThread() {
    Order& order = *Current();
    order.program_->Run(order.running_);
    order.Self().done = true;
  }

  Thread& Self() { return threads_[running_]; }

  // Lets a thread run until it stands before its next step.
  void Resume(int thread) {
    running_ = thread;
    swapcontext(&main_, &threads_[thread].context);
    running_ = -1;
  }

  // The calling thread stands before a step until it is resumed.
  void Step() {
    if (running_ >= 0) swapcontext(&Self().context, &main_);
  }

  void SetPast(size_t state) {
    Self().past = {absl::HashOf(state, 0), absl::HashOf(state, 1)};
  }
  uint64_t Remember(uint64_t value) {
    for (size_t digest = 0; digest < 2; ++digest) {
      size_t& past = Self().past[digest];
      past = absl::HashOf(past, value, digest);
    }
    return value;
  }

  void DrainOne(Thread& thread) {
    const Write write = thread.buffer.front();
    thread.buffer.pop_front();
    memory_[write.address].value = write.value;
  }
  void Drain(Thread& thread) {
    while (!thread.buffer.empty()) DrainOne(thread);
  }

  size_t HashState(size_t digest) const {
    size_t hash = absl::HashOf(digest, program_->State());
    for (const Word& word : memory_) {
      hash = absl::HashOf(hash, word.value, word.sleepers);
    }
    for (const Thread& thread : threads_) {
      hash = absl::HashOf(hash, thread.past[digest], thread.done, thread.asleep,
                          thread.buffer.size());
      for (const Write& write : thread.buffer) {
        hash = absl::HashOf(hash, write.address, write.value);
      }
    }
    return hash;
  }

  const StoreBuffers buffers_;
  std::unique_ptr<InterleavedProgram> program_;
  std::vector<Thread> threads_;
  std::vector<Word> memory_;
  ucontext_t main_;
  int running_ = -1;
  std::string error_;
};

}  // namespace

InterleavingResult RunInterleavings(
    const std::function<std::unique_ptr<InterleavedProgram>()>& make,
    StoreBuffers buffers) {
  InterleavingResult result;
  std::vector<std::vector<char>> stacks(kMostThreads,
                                        std::vector<char>(kStackBytes));
  // The transitions that are left to try, and the states seen before any.
  struct Choice {
    std::vector<Order::Transition> left;
    Order::Transition taken;
  };
  std::vector<Choice> choices;
  std::unordered_set<std::pair<size_t, size_t>,
                     absl::Hash<std::pair<size_t, size_t>>>
      seen;
  do {
    ++result.orders;
    Order order(stacks, make, buffers);
    for (const Choice& choice : choices) order.Take(choice.taken);
    while (order.error().empty()) {
      if (!seen.insert(order.State()).second) break;
      Choice choice{order.Possible(), {}};
      if (choice.left.empty()) {
        order.Fail(order.Finish());
        break;
      }
      choice.taken = choice.left.back();
      choice.left.pop_back();
      order.Take(choice.taken);
      choices.push_back(std::move(choice));
    }
    if (!order.error().empty()) {
      result.error = order.error();
      break;
    }
    while (!choices.empty() && choices.back().left.empty()) choices.pop_back();
    if (!choices.empty()) {
      choices.back().taken = choices.back().left.back();
      choices.back().left.pop_back();
    }
  } while (!choices.empty());
  result.states = static_cast<int64_t>(seen.size());
  Order::Current() = nullptr;
  return result;
}

void FailInterleaving(const std::string& error) {
  Order::Current()->Fail(error);
}

void ForgetPast(uint64_t state) { Order::Current()->ForgetPast(state); }

int ModelMemory::Add(uint64_t value) { return Order::Current()->Add(value); }
uint64_t ModelMemory::Load(int address) {
  return Order::Current()->Load(address);
}
void ModelMemory::Store(int address, uint64_t value, bool drain) {
  Order::Current()->Store(address, value, drain);
}
uint64_t ModelMemory::Update(int address,
                             uint64_t (*update)(uint64_t, uint64_t),
                             uint64_t operand) {
  return Order::Current()->Update(address, update, operand);
}
bool ModelMemory::CompareExchange(int address, uint64_t& expected,
                                  uint64_t value) {
  return Order::Current()->CompareExchange(address, expected, value);
}
void ModelMemory::WaitWhile(int address, uint64_t old) {
  Order::Current()->WaitWhile(address, old);
}
void ModelMemory::NotifyAll(int address) {
  Order::Current()->NotifyAll(address);
}

}  // namespace aitune
