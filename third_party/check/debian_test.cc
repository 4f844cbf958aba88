// The libraries that come from Debian.
#include <benchmark/benchmark.h>
#include <openssl/evp.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "third_party/check/check.pb.h"

namespace {

TEST(AbseilTest, StatusMapAndFormat) {
  absl::StatusOr<int> result = absl::NotFoundError(absl::StrCat("no ", 1));
  EXPECT_EQ(result.status().ToString(), "NOT_FOUND: no 1");
  absl::flat_hash_map<std::string, int> map = {{"a", 1}, {"b", 2}};
  EXPECT_EQ(map["b"], 2);
  EXPECT_EQ(absl::StrFormat("%d-%s", 3, "x"), "3-x");
}

TEST(ProtobufTest, RoundTrip) {
  aitune::check::Shape shape;
  shape.set_name("x");
  shape.add_dims(8);
  aitune::check::Shape read;
  ASSERT_TRUE(read.ParseFromString(shape.SerializeAsString()));
  EXPECT_EQ(read.name(), "x");
  EXPECT_THAT(read.dims(), testing::ElementsAre(8));
}

TEST(Cli11Test, ParsesOption) {
  CLI::App app("check");
  int threads = 0;
  app.add_option("--threads", threads);
  app.parse("--threads 4");
  EXPECT_EQ(threads, 4);
}

TEST(JsonTest, ParsesAndPrints) {
  nlohmann::json json = nlohmann::json::parse(R"({"a": [1, 2]})");
  EXPECT_EQ(json["a"][1], 2);
  EXPECT_EQ(json.dump(), R"({"a":[1,2]})");
}

TEST(OpensslTest, Sha256) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  ASSERT_EQ(EVP_Digest("abc", 3, digest, &size, EVP_sha256(), nullptr), 1);
  EXPECT_EQ(size, 32u);
  EXPECT_EQ(digest[0], 0xba);
}

TEST(BenchmarkTest, RunsLoop) {
  int iterations = 0;
  benchmark::RegisterBenchmark("loop", [&](benchmark::State& state) {
    for (auto _ : state) ++iterations;
  })->Iterations(5);
  EXPECT_EQ(benchmark::RunSpecifiedBenchmarks(), 1u);
  EXPECT_EQ(iterations, 5);
}

}  // namespace
