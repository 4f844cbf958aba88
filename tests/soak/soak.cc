#include "tests/soak/soak.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/ivalue.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/api/module.h"
#include "frontend/torchscript/input_spec.h"
#include "frontend/values/pytree.h"
#include "runtime/control/control.h"
#include "runtime/status/status_macros.h"
#include "tests/soak/memory.h"
#include "tests/soak/models.h"

namespace aitune::soak {
namespace {

using ait::Module;
using frontend::Leaf;
using frontend::Leaves;
using frontend::ValueList;
using Clock = std::chrono::steady_clock;
using Random = std::mt19937_64;

// How far a result differs, in words; empty when it is eager's.
std::string Difference(const c10::IValue& ours, const c10::IValue& eager) {
  const std::vector<Leaf> a = Leaves(ours), b = Leaves(eager);
  if (a.size() != b.size())
    return absl::StrCat(a.size(), " values in place of ", b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    const std::string where = absl::StrCat("value ", i, " ", b[i].path, ": ");
    if (!b[i].value->isTensor()) {
      if (*a[i].value != *b[i].value) return where + "another number";
      continue;
    }
    if (!a[i].value->isTensor()) return where + "no tensor";
    const at::Tensor x = a[i].value->toTensor(), y = b[i].value->toTensor();
    if (x.scalar_type() != y.scalar_type()) return where + "another dtype";
    if (x.sizes() != y.sizes()) return where + "other sizes";
    // Sums of some hundred float32 products of about 1, in another order.
    if (!at::allclose(x, y, /*rtol=*/1e-4, /*atol=*/1e-4))
      return absl::StrCat(where, "differs by up to ",
                          (x - y).abs().max().item<double>());
  }
  return "";
}

// Is due once an interval, for one of the threads that ask.
class Timer {
 public:
  Timer(Clock::time_point start, double seconds)
      : interval_(std::chrono::duration_cast<Clock::duration>(
            std::chrono::duration<double>(seconds))),
        next_((start + interval_).time_since_epoch().count()) {}

  bool IsDue() {
    const Clock::rep now = Clock::now().time_since_epoch().count();
    Clock::rep next = next_;
    return now >= next &&
           next_.compare_exchange_strong(next, now + interval_.count());
  }

 private:
  const Clock::duration interval_;
  std::atomic<Clock::rep> next_;
};

// A model, its module, and the last module that was loaded from a checkpoint.
class Subject {
 public:
  static absl::StatusOr<std::unique_ptr<Subject>> Make(
      SoakModel model, const std::filesystem::path& cache) {
    auto subject = std::unique_ptr<Subject>(new Subject(std::move(model)));
    subject->module_ =
        Module::Wrap(subject->model.model, {subject->model.name, cache});
    frontend::ModelInputs inputs;
    for (const std::string& text : subject->model.inputs) {
      AITUNE_ASSIGN_OR_RETURN(frontend::InputSpec spec,
                              frontend::ParseInputSpec(text));
      inputs.specs.push_back(std::move(spec));
    }
    ait::TuneOptions options;
    options.backends = {{"TorchInductorBackend", {}}};
    options.timing.warmup_rounds = 1;
    options.timing.min_rounds = options.timing.max_rounds = 1;
    options.inputs = inputs;
    AITUNE_RETURN_IF_ERROR(
        subject->module_->Tune(*aitune::OneBackend(), options));
    return subject;
  }

  // The module, or the loaded one if there is one, at random.
  std::shared_ptr<Module> Any(Random& random) const {
    std::lock_guard<std::mutex> lock(mutex_);
    return loaded_ != nullptr && random() % 2 == 0 ? loaded_ : module_;
  }

  // The one that was loaded before goes when the last call of it has ended.
  void SetLoaded(std::shared_ptr<Module> loaded) {
    std::lock_guard<std::mutex> lock(mutex_);
    loaded_.swap(loaded);
  }

  const SoakModel model;

 private:
  explicit Subject(SoakModel of) : model(std::move(of)) {}

  std::shared_ptr<Module> module_;  // tuned
  mutable std::mutex mutex_;
  std::shared_ptr<Module> loaded_;
};

class Soak {
 public:
  Soak(const SoakOptions& options,
       std::vector<std::unique_ptr<Subject>> subjects)
      : options_(options),
        subjects_(std::move(subjects)),
        start_(Clock::now()),
        // Short runs do everything a few times too.
        checkpoint_(start_, std::min(3.0, options.seconds / 12)),
        reset_(start_, std::min(60.0, options.seconds / 3)),
        free_(start_, std::min(0.5, options.seconds / 32)) {}

  SoakReport Run() {
    std::vector<std::thread> threads;
    for (int i = 0; i < options_.threads; ++i)
      threads.emplace_back([this, i] { CallInNewThreads(i); });
    std::vector<int64_t> memory;
    double next_line = 60;
    while (Seconds() < options_.seconds) {
      // 400 samples, but not more than ten in a second.
      std::this_thread::sleep_for(
          std::chrono::duration<double>(std::max(0.1, options_.seconds / 400)));
      memory.push_back(ResidentBytes());
      if (Seconds() < next_line) continue;
      next_line += 60;
      PrintLine(Report(memory));
    }
    EndIfCallsHang();
    for (std::thread& thread : threads) thread.join();
    return Report(std::move(memory));
  }

 private:
  double Seconds() const {
    return std::chrono::duration<double>(Clock::now() - start_).count();
  }

  SoakReport Report(std::vector<int64_t> memory) const {
    SoakReport report;
    report.seconds = Seconds();
    report.calls = calls_;
    report.wrong = wrong_;
    report.errors = errors_;
    report.late = late_;
    report.cancelled = cancelled_;
    report.checkpoints = checkpoints_;
    report.resets = resets_;
    report.frees = frees_;
    report.memory = std::move(memory);
    return report;
  }

  // Callers come and go: what a thread holds must go with it.
  void CallInNewThreads(int index) {
    Random random(options_.seed * 1000003 + index);
    const double life = std::min(30.0, options_.seconds / 4);
    while (Seconds() < options_.seconds) {
      const double end = std::min(Seconds() + life, options_.seconds);
      std::thread([&] {
        // One core each: there are more callers than cores.
        at::set_num_threads(1);
        Held held;
        while (Seconds() < end) {
          Step(*subjects_[random() % subjects_.size()], random, held);
        }
      }).join();
    }
    std::lock_guard<std::mutex> lock(ended_mutex_);
    ++ended_;
    ended_changed_.notify_all();
  }

  // Callers that wait for each other never end: then the program does.
  void EndIfCallsHang() {
    std::unique_lock<std::mutex> lock(ended_mutex_);
    if (ended_changed_.wait_for(lock, kPatience,
                                [this] { return ended_ == options_.threads; }))
      return;
    std::fprintf(stderr, "the calls of %d threads hang\n",
                 options_.threads - ended_);
    std::fflush(nullptr);
    std::_Exit(1);
  }

  // A result that is kept while others are computed.
  struct Held {
    std::optional<c10::IValue> ours, eager;
    std::string name;
  };

  void Step(Subject& subject, Random& random, Held& held) {
    if (checkpoint_.IsDue()) SaveAndLoad(subject, random);
    if (reset_.IsDue()) {
      Expect(aitune::Reset(), "reset");
      ++resets_;
    }
    if (free_.IsDue()) {
      subject.Any(random)->FreeKeptMemory();
      ++frees_;
    }
    const std::shared_ptr<Module> module = subject.Any(random);
    const ValueList arguments = subject.model.arguments(random);
    const std::string what =
        absl::StrCat(subject.model.name, " of ", arguments.Describe());
    const bool is_async = random() % 16 == 0;
    const auto ours = is_async ? CallAsync(*module, arguments, random)
                               : module->Run(arguments);
    if (is_async && absl::IsDeadlineExceeded(ours.status())) {
      ++late_;
      return;
    }
    if (is_async && absl::IsCancelled(ours.status())) {
      ++cancelled_;
      return;
    }
    const auto eager = subject.model.model->RunEager(arguments);
    if (!Expect(ours.status(), what) || !Expect(eager.status(), what)) return;
    ++calls_;
    Compare(*ours, *eager, what);
    if (held.ours.has_value())
      Compare(*held.ours, *held.eager, held.name + ", kept");
    held = {};
    if (random() % 4 == 0) held = {*ours, *eager, what};
  }

  absl::StatusOr<c10::IValue> CallAsync(const Module& module,
                                        const ValueList& arguments,
                                        Random& random) {
    ait::CallOptions options;
    // Calls take some hundred microseconds, and several wait for each other:
    // some are late.
    if (random() % 2 == 0)
      options.deadline =
          Clock::now() + std::chrono::microseconds(random() % 5000);
    const auto call = module.RunAsync(arguments, options);
    if (random() % 4 == 0) call->Cancel();
    return call->Result();
  }

  void SaveAndLoad(Subject& subject, Random& random) {
    const std::string what = subject.model.name + "'s checkpoint";
    const std::filesystem::path path =
        options_.folder / absl::StrCat("checkpoint", paths_++);
    const auto digest = subject.Any(random)->Save(
        path, random() % 2 == 0 ? aitune::BundleFormat::kFile
                                : aitune::BundleFormat::kFolder);
    if (Expect(digest.status(), what)) {
      auto loaded = Module::LoadCheckpoint(path, *digest);
      if (Expect(loaded.status(), what)) subject.SetLoaded(*std::move(loaded));
      ++checkpoints_;
    }
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }

  void Compare(const c10::IValue& ours, const c10::IValue& eager,
               const std::string& what) {
    const std::string difference = Difference(ours, eager);
    if (difference.empty()) return;
    if (++wrong_ <= kTexts)
      std::fprintf(stderr, "wrong: %s: %s\n", what.c_str(), difference.c_str());
  }

  bool Expect(const absl::Status& status, const std::string& what) {
    if (status.ok()) return true;
    if (++errors_ <= kTexts)
      std::fprintf(stderr, "error: %s: %s\n", what.c_str(),
                   status.ToString().c_str());
    return false;
  }

  // A call that compiles takes seconds, on a busy machine some ten.
  static constexpr std::chrono::seconds kPatience{150};
  // Of wrong results, and of errors.
  static constexpr int64_t kTexts = 20;

  const SoakOptions options_;
  const std::vector<std::unique_ptr<Subject>> subjects_;
  const Clock::time_point start_;
  Timer checkpoint_, reset_, free_;
  std::atomic<int64_t> calls_ = 0, wrong_ = 0, errors_ = 0, late_ = 0,
                       cancelled_ = 0, checkpoints_ = 0, resets_ = 0,
                       frees_ = 0, paths_ = 0;
  std::mutex ended_mutex_;
  std::condition_variable ended_changed_;
  int ended_ = 0;  // callers
};

}  // namespace

absl::StatusOr<SoakReport> RunSoak(const SoakOptions& options) {
  AITUNE_ASSIGN_OR_RETURN(std::vector<SoakModel> models, SoakModels());
  std::vector<std::unique_ptr<Subject>> subjects;
  for (SoakModel& model : models) {
    AITUNE_ASSIGN_OR_RETURN(
        subjects.emplace_back(),
        Subject::Make(std::move(model), options.folder / "cache"));
  }
  return Soak(options, std::move(subjects)).Run();
}

void PrintLine(const SoakReport& report) {
  const int64_t bytes = report.memory.empty() ? 0 : report.memory.back();
  std::printf(
      "seconds=%.0f calls=%lld wrong=%lld errors=%lld late=%lld "
      "cancelled=%lld checkpoints=%lld resets=%lld frees=%lld memory=%lld MB\n",
      report.seconds, static_cast<long long>(report.calls),
      static_cast<long long>(report.wrong),
      static_cast<long long>(report.errors),
      static_cast<long long>(report.late),
      static_cast<long long>(report.cancelled),
      static_cast<long long>(report.checkpoints),
      static_cast<long long>(report.resets),
      static_cast<long long>(report.frees),
      static_cast<long long>(bytes / 1000000));
  std::fflush(stdout);
}

}  // namespace aitune::soak
