#include "runtime/cpu/crash_names.h"

#include <sched.h>
#include <signal.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <mutex>
#include <string_view>
#include <utility>

namespace aitune {
namespace {

constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
constexpr std::string_view kSignalNames[] = {"SIGSEGV", "SIGBUS", "SIGFPE",
                                             "SIGILL"};

std::mutex list_mutex;  // held by what changes the list
std::atomic<const CrashNames*> first{nullptr};
// Handlers that read the list, for which what leaves it waits.
std::atomic<int> readers{0};
struct sigaction before[std::size(kSignals)];

// A line of bounded length, written at once: nothing here may allocate.
class Line {
 public:
  Line& operator<<(std::string_view text) {
    const size_t count = std::min(text.size(), sizeof(text_) - size_);
    std::memcpy(text_ + size_, text.data(), count);
    size_ += count;
    return *this;
  }
  Line& Hex(uint64_t value) {
    char digits[16];
    size_t begin = sizeof(digits);
    do {
      digits[--begin] = "0123456789abcdef"[value % 16];
      value /= 16;
    } while (value != 0);
    return *this << "0x"
                 << std::string_view(digits + begin, sizeof(digits) - begin);
  }
  void Write() {
    const char* rest = text_;
    while (size_ > 0) {
      const ssize_t written = write(STDERR_FILENO, rest, size_);
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) return;
      rest += written;
      size_ -= written;
    }
  }

 private:
  char text_[512];
  size_t size_ = 0;
};

uint64_t CodeAt(const void* context) {
#if defined(__x86_64__)
  return static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP];
#else
  return 0;
#endif
}

void Handle(int signal, siginfo_t* info, void* context) {
  const int error = errno;
  CrashNames::Tell(CodeAt(context), signal,
                   reinterpret_cast<uint64_t>(info->si_addr));
  const size_t i = std::find(std::begin(kSignals), std::end(kSignals), signal) -
                   std::begin(kSignals);
  errno = error;
  const struct sigaction& earlier = before[i];
  if (earlier.sa_handler == SIG_DFL || earlier.sa_handler == SIG_IGN) {
    // On return the instruction is run again, and the signal does what it did
    // before. One that was sent would be lost.
    sigaction(signal, &earlier, nullptr);
    if (info->si_code <= 0) raise(signal);
  } else if ((earlier.sa_flags & SA_SIGINFO) != 0) {
    earlier.sa_sigaction(signal, info, context);
  } else {
    earlier.sa_handler(signal);
  }
}

void SetHandlers() {
  for (size_t i = 0; i < std::size(kSignals); ++i) {
    struct sigaction action = {};
    // On the alternate stack, if the thread has one: its own may be full.
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    action.sa_sigaction = Handle;
    if (sigaction(kSignals[i], nullptr, &before[i]) != 0) continue;
    action.sa_mask = before[i].sa_mask;
    sigaction(kSignals[i], &action, nullptr);
  }
}

}  // namespace

bool CrashNames::AreWanted() {
  const char* const wanted = std::getenv("AITUNE_NAME_CRASHES");
  return wanted != nullptr && std::string_view(wanted) == "1";
}

CrashNames::CrashNames(std::string model, std::vector<Kernel> kernels)
    : model_(std::move(model)), kernels_(std::move(kernels)) {
  static std::once_flag once;
  std::call_once(once, SetHandlers);
  std::lock_guard<std::mutex> lock(list_mutex);
  next_ = first.load();
  first = this;
}

CrashNames::~CrashNames() {
  {
    std::lock_guard<std::mutex> lock(list_mutex);
    if (first == this) {
      first = next_.load();
    } else {
      const CrashNames* other = first;
      while (other->next_ != this) other = other->next_;
      const_cast<CrashNames*>(other)->next_ = next_.load();
    }
  }
  while (readers > 0) sched_yield();
}

void CrashNames::Tell(uint64_t code, int signal, uint64_t address) {
  ++readers;
  for (const CrashNames* names = first; names != nullptr;
       names = names->next_) {
    for (const Kernel& kernel : names->kernels_) {
      if (code < kernel.begin || code >= kernel.end) continue;
      Line line;
      line << "aitune: kernel " << kernel.name;
      if (!names->model_.empty()) line << " of " << names->model_;
      line << " crashed (";
      for (size_t i = 0; i < std::size(kSignals); ++i) {
        if (kSignals[i] == signal) line << kSignalNames[i];
      }
      line << " at ";
      line.Hex(address) << ")\n";
      line.Write();
    }
  }
  --readers;
}

}  // namespace aitune
