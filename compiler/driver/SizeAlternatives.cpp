#include "compiler/driver/SizeAlternatives.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "compiler/candidates/GenerateCandidates.h"
#include "compiler/dialect/KernelAttributes.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace aitune {
namespace {

/// How many times as large as one of the sizes at which is chosen the next is,
/// at most, as long as there are not too many of them.
constexpr double kGreatestStep = 4;
constexpr int kMostSizes = 3;

/// An alternative must take less than this of the time of what runs at larger
/// sizes, as it makes the model larger.
constexpr double kClearly = 0.97;

ArrayAttr withLargest(ArrayAttr symbols, ArrayRef<int64_t> most) {
  SmallVector<Attribute> narrowed;
  for (auto [symbol, bound] :
       llvm::zip_equal(symbols.getAsRange<DictionaryAttr>(), most)) {
    NamedAttrList attributes(symbol);
    attributes.set(
        "max",
        IntegerAttr::get(symbol.getAs<IntegerAttr>("max").getType(), bound));
    narrowed.push_back(attributes.getDictionary(symbol.getContext()));
  }
  return ArrayAttr::get(symbols.getContext(), narrowed);
}

/// While it lives, the kernels have other names, which their code is called by,
/// and the module's symbols smaller upper bounds.
class SmallerSizes {
public:
  SmallerSizes(ModuleOp module, ArrayRef<Kernel> kernels,
               ArrayRef<int64_t> most)
      : module(module), kernels(kernels),
        symbols(ait::getModuleSymbols(module)),
        suffix(absl::StrCat("_to_",
                            absl::StrJoin(most.begin(), most.end(), "_"))) {
    ait::setModuleSymbols(module, withLargest(symbols, most));
    for (const Kernel &kernel : kernels)
      rename(kernel, nameOf(kernel) + suffix);
  }
  SmallerSizes(const SmallerSizes &) = delete;
  SmallerSizes &operator=(const SmallerSizes &) = delete;
  ~SmallerSizes() {
    ait::setModuleSymbols(module, symbols);
    for (const Kernel &kernel : kernels)
      rename(kernel, ofAllSizes(nameOf(kernel)));
  }

  /// The name at all sizes of a kernel with this name now.
  std::string ofAllSizes(StringRef name) const {
    name.consume_back(suffix);
    return name.str();
  }

private:
  static std::string nameOf(const Kernel &kernel) {
    return func::FuncOp(kernel.function).getSymName().str();
  }
  static void rename(const Kernel &kernel, const std::string &name) {
    func::FuncOp(kernel.function).setSymName(name);
    for (ait::LaunchOp launch : kernel.launches)
      launch.setKernel(name);
  }

  ModuleOp module;
  const ArrayRef<Kernel> kernels;
  const ArrayAttr symbols;
  const std::string suffix;
};

bool hasWorkOfSizes(const Kernel &kernel, ArrayAttr symbols,
                    ArrayRef<int64_t> most) {
  return evaluateFlops(kernel.function, symbols) !=
         evaluateFlops(kernel.function, withLargest(symbols, most));
}

/// Removes all but the first algorithm of each library: preparing one takes up
/// to a third of a second, and a library's first is its best guess.
void dropLaterAlgorithms(Kernel &kernel) {
  llvm::StringSet<> seen;
  llvm::erase_if(kernel.candidates, [&](const KernelImplementation &candidate) {
    return candidate.leastMicroseconds > 0 &&
           !seen.insert(candidate.name).second;
  });
}

/// Whether the best of `measured`, those of a kernel, is clearly faster than
/// the candidate `other`, if that was measured at all.
bool isClearlyFaster(ArrayRef<CandidateResult> measured, StringRef kernel,
                     const std::string &other) {
  double best = -1, ofOther = -1;
  for (const CandidateResult &candidate : measured) {
    if (candidate.kernel != kernel)
      continue;
    if (candidate.chosen)
      best = candidate.microseconds;
    if (candidate.candidate == other)
      ofOther = candidate.microseconds;
  }
  return best < 0 || ofOther < 0 || best < kClearly * ofOther;
}

} // namespace

std::vector<std::vector<int64_t>> sizesToChooseAt(ArrayAttr symbols) {
  std::vector<int64_t> least, most = largestSizes(symbols);
  double ratio = 1;
  for (size_t i = 0; i < most.size(); ++i) {
    auto symbol = cast<DictionaryAttr>(symbols[i]);
    least.push_back(
        std::max<int64_t>(1, symbol.getAs<IntegerAttr>("min").getInt()));
    ratio = std::max(ratio, static_cast<double>(most[i]) / least[i]);
  }
  std::vector<std::vector<int64_t>> sizes;
  if (ratio < 2)
    return sizes;
  const int steps = std::min(
      kMostSizes,
      static_cast<int>(std::ceil(std::log(ratio) / std::log(kGreatestStep))));
  for (int step = steps - 1; step >= 0; --step) {
    std::vector<int64_t> at;
    for (size_t i = 0; i < most.size(); ++i)
      at.push_back(std::min<int64_t>(
          most[i],
          std::lround(least[i] * std::pow(static_cast<double>(most[i]) /
                                              static_cast<double>(least[i]),
                                          static_cast<double>(step) / steps))));
    sizes.push_back(std::move(at));
  }
  return sizes;
}

KernelImplementation joinAlternatives(ArrayRef<SizeAlternative> alternatives,
                                      const KernelImplementation &largest,
                                      int operands) {
  KernelImplementation whole = largest;
  whole.steps.clear();
  whole.temporaries.clear();
  whole.objects.clear();
  whole.description.clear();
  const auto same = llvm::to_vector(llvm::seq(0, operands));
  int number = 0;
  auto add = [&](const KernelImplementation &one, ArrayRef<int64_t> most) {
    const size_t first = whole.steps.size();
    appendSteps(one, same, operands, whole);
    for (size_t i = first; i < whole.steps.size(); ++i) {
      Step &call = whole.steps[i].call;
      call.set_implementation(one.name);
      call.mutable_alternative()->set_number(number);
      call.mutable_alternative()->mutable_most()->Assign(most.begin(),
                                                         most.end());
    }
    ++number;
  };
  for (const SizeAlternative &alternative : alternatives) {
    add(alternative.implementation, alternative.most);
    absl::StrAppend(&whole.description, absl::StrJoin(alternative.most, " x "),
                    ": ", labelOf(alternative.implementation), "; ");
  }
  add(largest, {});
  whole.name = "by size";
  absl::StrAppend(&whole.description, "above: ", labelOf(largest));
  return whole;
}

absl::Status chooseForSmallerSizes(ModuleOp module, ArrayRef<Kernel> kernels,
                                   CompilationTarget &target,
                                   absl::Span<const ConstantTensor> constants,
                                   const CompileOptions &options,
                                   ChosenKernels &chosen,
                                   CompileResult &result) {
  const ArrayAttr symbols = ait::getModuleSymbols(module);
  std::map<std::string, std::vector<SizeAlternative>> found; // largest first
  for (const std::vector<int64_t> &most : sizesToChooseAt(symbols)) {
    std::vector<Kernel> again;
    for (const Kernel &kernel : kernels)
      if (!kernel.launches.empty() && hasWorkOfSizes(kernel, symbols, most)) {
        Kernel &copy = again.emplace_back();
        copy.function = kernel.function;
        copy.launches = kernel.launches;
        copy.cuts = kernel.cuts;
        copy.leftOut = kernel.leftOut;
      }
    if (again.empty())
      continue;
    const SmallerSizes narrowed(module, again, most);
    CompileResult there;
    generateCandidates(again, module, target, there);
    for (Kernel &kernel : again)
      dropLaterAlgorithms(kernel);
    llvm::erase_if(
        again, [](const Kernel &kernel) { return kernel.candidates.empty(); });
    absl::StatusOr<ChosenKernels> small =
        chooseCandidates(again, module, target, constants, options, there);
    for (WrongCandidate &wrong : there.wrong) {
      wrong.kernel = narrowed.ofAllSizes(wrong.kernel);
      result.wrong.push_back(std::move(wrong));
    }
    if (!small.ok())
      return small.status();
    for (auto &entry : small->best) {
      const std::string name = narrowed.ofAllSizes(entry.getKey());
      const auto largest = chosen.best.find(name);
      if (largest == chosen.best.end())
        continue;
      std::vector<SizeAlternative> &others = found[name];
      const std::string larger = labelOf(
          others.empty() ? largest->second : others.back().implementation);
      if (labelOf(entry.second) != larger &&
          isClearlyFaster(there.candidates, entry.getKey(), larger))
        others.push_back({most, std::move(entry.second)});
    }
    llvm::append_range(result.candidates, there.candidates);
  }
  for (const Kernel &kernel : kernels) {
    func::FuncOp function = kernel.function;
    const auto others = found.find(function.getSymName().str());
    if (others == found.end() || others->second.empty())
      continue;
    std::reverse(others->second.begin(), others->second.end());
    KernelImplementation &best = chosen.best[function.getSymName()];
    best = joinAlternatives(others->second, best,
                            static_cast<int>(function.getNumArguments() +
                                             function.getNumResults()));
  }
  return absl::OkStatus();
}

} // namespace aitune
