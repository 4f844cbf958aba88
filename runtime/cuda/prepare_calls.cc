#include "runtime/cuda/prepare_calls.h"

#include <algorithm>
#include <atomic>
#include <thread>

#include "absl/container/flat_hash_map.h"

namespace aitune::cuda {
namespace {

constexpr size_t kMostThreads = 16;

}  // namespace

absl::Status PrepareCalls(
    const std::vector<std::string>& keys,
    const std::function<absl::StatusOr<SharedCall>(size_t)>& prepare,
    std::vector<SharedCall>& calls, size_t& failed) {
  absl::flat_hash_map<std::string, size_t> first;
  std::vector<size_t> distinct;
  for (size_t i = 0; i < keys.size(); ++i) {
    if (!keys[i].empty() && first.try_emplace(keys[i], i).second)
      distinct.push_back(i);
  }
  std::vector<absl::StatusOr<SharedCall>> prepared(
      distinct.size(), absl::UnknownError("not prepared"));
  std::atomic<size_t> next{0};
  auto run = [&] {
    for (size_t i = next++; i < distinct.size(); i = next++)
      prepared[i] = prepare(distinct[i]);
  };
  const size_t threads = std::min<size_t>(
      {distinct.size(), kMostThreads, std::thread::hardware_concurrency()});
  std::vector<std::thread> helpers;
  for (size_t i = 1; i < threads; ++i) helpers.emplace_back(run);
  run();
  for (std::thread& helper : helpers) helper.join();
  calls.resize(keys.size());
  for (size_t i = 0; i < distinct.size(); ++i) {
    if (!prepared[i].ok()) {
      failed = distinct[i];
      return prepared[i].status();
    }
    calls[distinct[i]] = *prepared[i];
  }
  for (size_t i = 0; i < keys.size(); ++i) {
    if (!keys[i].empty()) calls[i] = calls[first[keys[i]]];
  }
  return absl::OkStatus();
}

absl::StatusOr<SharedCall> PrepareAlgorithm(
    int asked, Algorithms allowed,
    absl::FunctionRef<absl::StatusOr<std::unique_ptr<LibraryCall>>(int)>
        prepare) {
  absl::StatusOr<SharedCall> result = prepare(asked);
  if (allowed == Algorithms::kAsked) return result;
  for (int other = 0; !result.ok() && other < kMostAlgorithms; ++other) {
    if (other == asked) continue;
    absl::StatusOr<SharedCall> call = prepare(other);
    if (call.ok()) return call;
  }
  return result;
}

}  // namespace aitune::cuda
