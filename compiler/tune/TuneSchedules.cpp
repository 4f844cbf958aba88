#include "compiler/tune/TuneSchedules.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "compiler/dialect/KernelAttributes.h"
#include "compiler/tune/CostModel.h"
#include "compiler/tune/Search.h"
#include "mlir/AsmParser/AsmParser.h"
#include "runtime/logging/logging.h"
#include "runtime/status/status_macros.h"

using namespace mlir;

namespace aitune {
namespace {

using Clock = std::chrono::steady_clock;

/// Seconds for the first measurement of each default schedule.
constexpr double kDefaultSeconds = 0.04;
/// The number of kernels that are searched is kTasksPerSecond for each second
/// of the budget, but at least four. The most expensive kernels are searched,
/// until together they take kSearchedShare of a run's time as the roofline
/// estimates it; searching the others would gain too little.
constexpr double kTasksPerSecond = 1, kSearchedShare = 0.98;
/// The most records that a cost model learns from.
constexpr int kTrainingRecords = 4000;
/// The number of kernels that are cut in two for each second of the budget. To
/// compile and measure a cut takes about 0.1 s, so cuts take a fifth of the
/// budget.
constexpr double kCutsPerSecond = 2;

/// A kernel with a space to search.
struct Task {
  Kernel *kernel;
  std::string key;
  KernelSpace space;
  KernelWork work;
  SearchProblem problem;
  TunedKernel summary;

  int launches() const { return kernel->launches.size(); }
  double defaultMicroseconds() const {
    return problem.known.front().microseconds;
  }
};

/// The measurements of schedules of one template, and the model fitted to them.
struct FormKnowledge {
  std::vector<TuningRecord> records;
  std::unique_ptr<CostModel> model;
};

class ScheduleTuner {
public:
  ScheduleTuner(std::vector<Kernel> &kernels, ModuleOp module,
                absl::Span<const ConstantTensor> constants,
                CompilationTarget &target, const TuningChoices &choices,
                const CompileOptions &options, CompileResult &result)
      : kernels(kernels), module(module), constants(constants), target(target),
        symbols(ait::getModuleSymbols(module)), choices(choices),
        options(options), result(result.tuning), rejections(result.rejections),
        progress(options.progress), start(Clock::now()) {}

  absl::Status run();

private:
  void listKernelCuts();
  const TuningOptions &tuning() const { return options.tuning; }
  double seconds() const {
    return std::chrono::duration<double>(Clock::now() - start).count();
  }
  bool mustStop() const {
    return seconds() >= tuning().budgetSeconds ||
           (tuning().stop && tuning().stop());
  }
  absl::Status collectTasks();
  void dropSmallTasks();
  absl::StatusOr<const FormKnowledge *> knowledgeOf(const std::string &form);
  absl::Status readDatabase(Task &task);
  void addHints(Task &task, const std::vector<TuningRecord> &records);
  absl::StatusOr<std::vector<Measurement>>
  measure(Task &task, absl::Span<const size_t> schedules, double seconds);
  absl::Status measureDefaults();
  absl::Status searchAll();
  absl::Status finish();
  void report();
  TuningDatabase *database() const { return choices.database(); }

  std::vector<Kernel> &kernels;
  ModuleOp module;
  const absl::Span<const ConstantTensor> constants;
  CompilationTarget &target;
  const ArrayAttr symbols;
  const TuningChoices &choices;
  const CompileOptions &options;
  TuningResult &result;
  std::vector<Rejection> &rejections;
  std::set<std::string> warned; ///< what was said of plug-ins
  const std::function<void(const std::string &, int, int)> &progress;
  const Clock::time_point start;
  std::unique_ptr<ScheduleMeasurer> measurer;
  std::vector<std::unique_ptr<Task>> tasks;
  std::map<std::string, FormKnowledge> forms;
};

absl::Status ScheduleTuner::collectTasks() {
  for (Kernel &kernel : kernels) {
    if (kernel.launches.empty())
      continue;
    auto task = std::make_unique<Task>();
    task->kernel = &kernel;
    absl::StatusOr<KernelSpace> space =
        target.listSchedules(moduleText(kernel.function, symbols));
    if (!space.ok())
      continue;
    for (const std::string &refused : space->refused) {
      rejections.push_back(
          {"schedules", kernel.function.getSymName().str(), refused});
      if (warned.insert(refused).second)
        Log(LogChannel::kWarning, refused);
    }
    if (space->schedules.size() < 2)
      continue;
    task->key = choices.keyOf(kernel.function);
    task->space = *std::move(space);
    task->work = {double(evaluateFlops(kernel.function, symbols)),
                  countBytes(kernel.function)};
    task->problem.space = &task->space;
    task->problem.known.resize(task->space.schedules.size());
    task->summary.kernel = kernel.function.getSymName().str();
    task->summary.launches = task->launches();
    AITUNE_RETURN_IF_ERROR(readDatabase(*task));
    tasks.push_back(std::move(task));
  }
  return absl::OkStatus();
}

/// Keeps the kernels in which a run spends most of its time, as estimated
/// before anything is measured.
void ScheduleTuner::dropSmallTasks() {
  auto cost = [](const Task &task) {
    return task.launches() * Roofline().microseconds(task.work);
  };
  double all = 0, kept = 0;
  for (const std::unique_ptr<Task> &task : tasks)
    all += cost(*task);
  std::sort(
      tasks.begin(), tasks.end(),
      [&](const std::unique_ptr<Task> &a, const std::unique_ptr<Task> &b) {
        return cost(*a) > cost(*b);
      });
  const auto most = static_cast<size_t>(
      std::max(4.0, kTasksPerSecond * tuning().budgetSeconds));
  size_t count = 0;
  while (count < std::min(most, tasks.size()) && kept < kSearchedShare * all)
    kept += cost(*tasks[count++]);
  tasks.resize(count);
}

/// A neighbour is a kernel of the same template; its best schedule's parameters
/// are looked for in this space.
void ScheduleTuner::addHints(Task &task,
                             const std::vector<TuningRecord> &records) {
  constexpr size_t kHints = 4;
  std::map<std::string, const TuningRecord *> best;
  for (const TuningRecord &record : records) {
    if (record.kernel == task.key || record.microseconds < 0 ||
        record.features.size() != task.space.schedules[0].features.size())
      continue;
    const TuningRecord *&kept = best[record.kernel];
    if (!kept || record.microseconds < kept->microseconds)
      kept = &record;
  }
  const std::vector<double> &own = task.space.schedules[0].features;
  // What no two schedules of the kernel differ in are its sizes.
  std::vector<bool> isOfKernel(own.size(), true);
  for (const Schedule &schedule : task.space.schedules)
    for (size_t i = 0; i < std::min(own.size(), schedule.features.size()); ++i)
      if (schedule.features[i] != own[i])
        isOfKernel[i] = false;
  auto distance = [&](const std::vector<double> &a,
                      const std::vector<double> &b, bool ofKernel) {
    double sum = 0;
    for (size_t i = 0; i < std::min(own.size(), a.size()); ++i)
      if (isOfKernel[i] == ofKernel)
        sum += std::abs(a[i] - b[i]);
    return sum;
  };
  std::vector<const TuningRecord *> neighbours;
  for (const auto &entry : best)
    neighbours.push_back(entry.second);
  std::sort(neighbours.begin(), neighbours.end(),
            [&](const TuningRecord *a, const TuningRecord *b) {
              return distance(a->features, own, /*ofKernel=*/true) <
                     distance(b->features, own, /*ofKernel=*/true);
            });
  neighbours.resize(std::min(neighbours.size(), kHints));
  for (const TuningRecord *neighbour : neighbours) {
    size_t nearest = 0;
    auto to = [&](size_t i) {
      return distance(task.space.schedules[i].features, neighbour->features,
                      /*ofKernel=*/false);
    };
    for (size_t i = 1; i < task.space.schedules.size(); ++i)
      if (to(i) < to(nearest))
        nearest = i;
    task.problem.hints.push_back(nearest);
  }
}

absl::StatusOr<const FormKnowledge *>
ScheduleTuner::knowledgeOf(const std::string &form) {
  FormKnowledge &knowledge = forms[form];
  if (knowledge.model)
    return &knowledge;
  AITUNE_ASSIGN_OR_RETURN(std::unique_ptr<CostModel> model,
                          createCostModel(tuning().costModel, Roofline()));
  if (database()) {
    AITUNE_ASSIGN_OR_RETURN(
        std::vector<TuningRecord> records,
        database()->findForm(form, choices.target(), kTrainingRecords));
    knowledge.records = std::move(records);
    // Others' features may mean something else.
    llvm::erase_if(knowledge.records, [&](const TuningRecord &record) {
      return record.version != choices.version();
    });
    AITUNE_RETURN_IF_ERROR(
        fitTo(knowledge.records, tuning().costModel, *model));
  }
  knowledge.model = std::move(model);
  return &knowledge;
}

absl::Status ScheduleTuner::readDatabase(Task &task) {
  AITUNE_ASSIGN_OR_RETURN(const FormKnowledge *knowledge,
                          knowledgeOf(task.space.form));
  AITUNE_ASSIGN_OR_RETURN(task.problem.predictions,
                          predictTimes(*knowledge->model, tuning().costModel,
                                       task.space, task.work));
  if (!database())
    return absl::OkStatus();
  AITUNE_ASSIGN_OR_RETURN(std::vector<TuningRecord> records,
                          database()->find(task.key, choices.target()));
  for (const TuningRecord &record : records)
    for (size_t i = 0; i < task.space.schedules.size(); ++i)
      if (record.config == task.space.schedules[i].config &&
          record.version == choices.version()) {
        task.problem.known[i] = {record.microseconds, record.low, record.high,
                                 record.note};
        ++task.summary.known;
      }
  if (tuning().transfer)
    addHints(task, knowledge->records);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Measurement>>
ScheduleTuner::measure(Task &task, absl::Span<const size_t> schedules,
                       double measureSeconds) {
  // The speed of a machine changes during a search. So the default schedule is
  // measured in each round, and times are scaled to the speed at its first
  // measurement.
  const double reference = task.defaultMicroseconds();
  std::vector<size_t> round(schedules.begin(), schedules.end());
  if (!llvm::is_contained(round, 0u))
    round.push_back(0);
  AITUNE_ASSIGN_OR_RETURN(std::vector<Measurement> measured,
                          measurer->measure(round, measureSeconds));
  const double now =
      measured[llvm::find(round, 0u) - round.begin()].microseconds;
  const double drift = reference > 0 && now > 0 ? reference / now : 1;
  measured.resize(schedules.size());
  std::vector<TuningRecord> records;
  for (size_t i = 0; i < schedules.size(); ++i) {
    const Schedule &schedule = task.space.schedules[schedules[i]];
    Measurement &outcome = measured[i];
    if (outcome.microseconds > 0)
      for (double *time : {&outcome.microseconds, &outcome.low, &outcome.high})
        *time *= drift;
    task.problem.known[schedules[i]] = outcome;
    ++task.summary.measured;
    task.summary.failed += outcome.microseconds < 0;
    // It was not run: the device was lost before.
    if (outcome.microseconds < 0 && outcome.note.empty())
      continue;
    records.push_back({task.key, choices.target(), task.space.form,
                       schedule.config, schedule.features, task.work.flops,
                       task.work.bytes, outcome.microseconds, outcome.low,
                       outcome.high, outcome.note, choices.version(),
                       std::time(nullptr)});
  }
  if (database())
    AITUNE_RETURN_IF_ERROR(database()->record(records));
  AITUNE_RETURN_IF_ERROR(checkUsable(
      target, absl::StrCat("a schedule of kernel ",
                           task.kernel->function.getSymName().str())));
  // The new records say more about this kernel than those of other kernels do.
  FormKnowledge &knowledge = forms[task.space.form];
  knowledge.records.insert(knowledge.records.end(), records.begin(),
                           records.end());
  AITUNE_RETURN_IF_ERROR(
      fitTo(knowledge.records, tuning().costModel, *knowledge.model));
  AITUNE_ASSIGN_OR_RETURN(task.problem.predictions,
                          predictTimes(*knowledge.model, tuning().costModel,
                                       task.space, task.work));
  report();
  return measured;
}

void ScheduleTuner::report() {
  double now = 0, before = 0;
  int done = 0;
  for (const std::unique_ptr<Task> &task : tasks) {
    if (task->defaultMicroseconds() < 0)
      continue;
    const std::vector<Measurement> &known = task->problem.known;
    ++done;
    before += task->launches() * task->defaultMicroseconds();
    now += task->launches() * known[chooseSchedule(known, 0)].microseconds;
  }
  if (done == static_cast<int>(tasks.size()) &&
      (result.curve.empty() || now / 1e3 != result.curve.back().second))
    result.curve.emplace_back(seconds(), now / 1e3);
  if (!progress)
    return;
  const int total = std::max(1, static_cast<int>(tuning().budgetSeconds));
  progress(absl::StrCat("tuning, best ", std::round(now / 10) / 100, " ms (",
                        std::round(100 * before / std::max(now, 1e-9)) / 100,
                        "x the default's speed)"),
           std::min(total, static_cast<int>(seconds())), total);
}

absl::Status ScheduleTuner::measureDefaults() {
  const size_t first[] = {0};
  for (const std::unique_ptr<Task> &task : tasks) {
    if (task->defaultMicroseconds() >= 0)
      continue;
    if (mustStop())
      return absl::OkStatus();
    AITUNE_RETURN_IF_ERROR(measurer->begin(*task->kernel, task->space));
    if (auto outcome = measure(*task, first, kDefaultSeconds); !outcome.ok())
      return outcome.status();
  }
  return absl::OkStatus();
}

absl::Status ScheduleTuner::searchAll() {
  // The kernels that a run spends most time in come first and get a share of
  // the budget that is like their share of the time.
  std::vector<Task *> order;
  double open = 0;
  for (const std::unique_ptr<Task> &task : tasks)
    if (task->defaultMicroseconds() >= 0) {
      order.push_back(task.get());
      open += task->launches() * task->defaultMicroseconds();
    }
  std::sort(order.begin(), order.end(), [](Task *a, Task *b) {
    return a->launches() * a->defaultMicroseconds() >
           b->launches() * b->defaultMicroseconds();
  });
  for (Task *task : order) {
    const double cost = task->launches() * task->defaultMicroseconds();
    const double end = seconds() + (tuning().budgetSeconds - seconds()) * cost /
                                       std::max(open, 1e-9);
    open -= cost;
    if (mustStop())
      break;
    AITUNE_ASSIGN_OR_RETURN(std::unique_ptr<SearchStrategy> strategy,
                            createSearchStrategy(tuning().strategy));
    AITUNE_RETURN_IF_ERROR(measurer->begin(*task->kernel, task->space));
    // What the strategy sees is a copy: what it writes there is no measurement.
    SearchProblem shown = task->problem;
    absl::Status asked;
    shown.measure =
        [&](absl::Span<const size_t> schedules,
            double measureSeconds) -> absl::StatusOr<std::vector<Measurement>> {
      asked.Update(checkRequest(tuning().strategy, task->space, schedules,
                                measureSeconds));
      AITUNE_RETURN_IF_ERROR(asked);
      auto measured = measure(*task, schedules, measureSeconds);
      asked.Update(measured.status());
      shown.known = task->problem.known;
      shown.predictions = task->problem.predictions;
      return measured;
    };
    shown.stop = [&] { return mustStop() || seconds() >= end; };
    absl::Status searched = searchWith(tuning().strategy, *strategy, shown);
    AITUNE_RETURN_IF_ERROR(asked);
    AITUNE_RETURN_IF_ERROR(searched);
  }
  return absl::OkStatus();
}

absl::Status ScheduleTuner::finish() {
  for (const std::unique_ptr<Task> &task : tasks) {
    const std::vector<Measurement> &known = task->problem.known;
    const size_t choice = chooseSchedule(known, 0);
    const Schedule &schedule = task->space.schedules[choice];
    task->summary.schedule = schedule.description;
    task->summary.defaultMicroseconds = task->defaultMicroseconds();
    task->summary.microseconds = known[choice].microseconds;
    result.kernels.push_back(task->summary);
    func::FuncOp function = task->kernel->function;
    ait::setScheduleConfig(
        function, cast<DictionaryAttr>(
                      parseAttribute(schedule.config, function.getContext())));
    if (choice != 0)
      task->kernel->defaultConfig = task->space.schedules[0].config;
    if (known[choice].microseconds >= 0)
      AITUNE_RETURN_IF_ERROR(choices.keepSchedule(task->key, schedule.config));
  }
  return absl::OkStatus();
}

/// Cuts to try, of the kernels that move most bytes: what fusion saves.
void ScheduleTuner::listKernelCuts() {
  std::vector<std::pair<double, Kernel *>> byBytes;
  for (Kernel &kernel : kernels)
    byBytes.emplace_back(countBytes(kernel.function) * kernel.launches.size(),
                         &kernel);
  llvm::sort(byBytes, [](const auto &lhs, const auto &rhs) {
    return lhs.first > rhs.first;
  });
  const auto most =
      static_cast<size_t>(kCutsPerSecond * tuning().budgetSeconds);
  for (auto [bytes, kernel] : llvm::ArrayRef(byBytes).take_front(most))
    if (bytes > 0)
      kernel->cuts = listCuts(kernel->function);
}

absl::Status ScheduleTuner::run() {
  AITUNE_ASSIGN_OR_RETURN(std::unique_ptr<ScheduleMeasurer> created,
                          target.measureSchedules(module, constants));
  measurer = std::move(created);
  AITUNE_RETURN_IF_ERROR(collectTasks());
  dropSmallTasks();
  absl::Status searched = measureDefaults();
  if (searched.ok())
    searched = searchAll();
  if (!tuning().stop || !tuning().stop())
    listKernelCuts();
  // The results from before a failure are used too.
  absl::Status finished = finish();
  return searched.ok() ? finished : searched;
}

} // namespace

absl::Status tuneSchedules(std::vector<Kernel> &kernels, ModuleOp module,
                           absl::Span<const ConstantTensor> constants,
                           CompilationTarget &target,
                           const TuningChoices &choices,
                           const CompileOptions &options,
                           CompileResult &result) {
  return ScheduleTuner(kernels, module, constants, target, choices, options,
                       result)
      .run();
}

} // namespace aitune
