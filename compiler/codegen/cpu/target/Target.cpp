#include "compiler/codegen/cpu/target/Target.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <map>

#include "mlir/IR/BuiltinTypes.h"
#include "runtime/target/host_target.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/TargetParser/Host.h"

using namespace mlir;

namespace aitune {
namespace {

void deriveFlags(Target &target, const llvm::StringMap<bool> &features) {
  auto has = [&](llvm::StringRef name) { return features.lookup(name); };
  target.hasAvx2 = has("avx2") && has("fma") && has("f16c");
  target.hasAvx512 =
      has("avx512f") && has("avx512bw") && has("avx512dq") && has("avx512vl");
  target.hasAvx512Bf16 = target.hasAvx512 && has("avx512bf16");
  target.hasAvx512Fp16 = target.hasAvx512 && has("avx512fp16");
  target.hasAvx512Vnni = target.hasAvx512 && has("avx512vnni");
  target.hasAmxBf16 = has("amx-tile") && has("amx-bf16");
  target.hasAmxInt8 = has("amx-tile") && has("amx-int8");
  target.hasVectorMath = HasVectorMath();
  target.vectorBits = target.hasAvx512 ? 512 : target.hasAvx2 ? 256 : 128;
  target.vectorRegisters = target.hasAvx512 ? 32 : 16;
}

std::string joinFeatures(const llvm::StringMap<bool> &features) {
  // Sorted: the text is part of cache keys.
  std::map<std::string, bool> sorted;
  for (const auto &feature : features)
    sorted[feature.getKey().str()] = feature.getValue();
  std::string text;
  for (const auto &[name, enabled] : sorted)
    text += (text.empty() ? "" : ",") + std::string(enabled ? "+" : "-") + name;
  return text;
}

/// The size of the level 3 cache that a core has a part of, in bytes; 0 if it
/// is unknown. (sysconf gives that of all such caches of AMD's processors
/// together.)
int64_t readLastLevelBytes() {
  std::ifstream file("/sys/devices/system/cpu/cpu0/cache/index3/size");
  int64_t kibibytes = 0;
  char unit = 0;
  return file >> kibibytes >> unit && unit == 'K' ? kibibytes * 1024 : 0;
}

Target detectHost() {
  Target target;
  target.triple = llvm::sys::getProcessTriple();
  target.cpu = llvm::sys::getHostCPUName().str();
  llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
  target.features = joinFeatures(features);
  deriveFlags(target, features);
  if (long bytes = sysconf(_SC_LEVEL1_DCACHE_SIZE); bytes > 0)
    target.l1DataBytes = bytes;
  if (long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE); bytes > 0)
    target.l2Bytes = bytes;
  if (int64_t bytes = readLastLevelBytes(); bytes > 0)
    target.lastLevelBytes = bytes;
  return target;
}

Target makeNamed(llvm::StringRef cpu, llvm::ArrayRef<llvm::StringRef> names) {
  llvm::StringMap<bool> features;
  for (llvm::StringRef name : names)
    features[name] = true;
  Target target;
  target.triple = "x86_64-unknown-linux-gnu";
  target.cpu = cpu.str();
  target.features = joinFeatures(features);
  deriveFlags(target, features);
  return target;
}

} // namespace

const Target &Target::host() {
  static const Target target = detectHost();
  return target;
}

FailureOr<Target> Target::named(llvm::StringRef name) {
  if (name == "host")
    return host();
  llvm::SmallVector<llvm::StringRef> features = {"avx2", "fma", "f16c"};
  if (name == "avx2")
    return makeNamed("haswell", features);
  features.append({"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512cd"});
  if (name == "avx512")
    return makeNamed("skylake-avx512", features);
  features.append({"avx512vnni", "avx512bf16"});
  if (name == "avx512bf16")
    return makeNamed("znver4", features);
  features.append({"avx512fp16", "amx-tile", "amx-bf16", "amx-int8"});
  if (name == "amx")
    return makeNamed("sapphirerapids", features);
  return failure();
}

std::string Target::missingOn(const Target &machine) const {
  llvm::SmallVector<llvm::StringRef> wanted, given;
  llvm::StringRef(features).split(wanted, ',');
  llvm::StringRef(machine.features).split(given, ',');
  std::string missing;
  for (llvm::StringRef feature : wanted) {
    if (!feature.starts_with("+") || llvm::is_contained(given, feature))
      continue;
    missing += (missing.empty() ? "" : ", ") + feature.drop_front().str();
  }
  return missing;
}

int64_t Target::lanes(Type elementType) const {
  int64_t bits =
      elementType.isIndex() ? 64 : elementType.getIntOrFloatBitWidth();
  return vectorBits / std::max<int64_t>(bits, 8);
}

} // namespace aitune
