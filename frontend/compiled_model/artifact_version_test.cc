// Asks for a new kArtifactVersion when what an artifact means may have changed.
#include <gtest/gtest.h>

#include <cctype>
#include <fstream>
#include <iterator>
#include <string>

#include "frontend/compiled_model/artifact.h"
#include "runtime/hash/sha256.h"

namespace aitune::frontend {
namespace {

// The files that define it: messages, the kernels' calling convention, the
// layouts of packed constants.
constexpr const char* kFiles[] = {
    "frontend/compiled_model/compiled_model.proto",
    "frontend/trace/structure.proto", "runtime/cpu/kernel_abi.h",
    "runtime/cpu/pack.h", "runtime/plan/plan.proto"};

// Of the files at this version.
constexpr int kVersion = 6;
constexpr char kDigest[] =
    "259db05702f58a9f500b0d948196dfb73651fd5a8f7d8788d608351b704ae024";

// Without comments and spaces.
std::string Code(const char* path) {
  std::ifstream file(path);
  EXPECT_TRUE(file.is_open()) << path;
  std::string code, line;
  while (std::getline(file, line)) {
    for (const char c : line.substr(0, line.find("//")))
      if (std::isspace(static_cast<unsigned char>(c)) == 0) code += c;
  }
  return code;
}

TEST(ArtifactVersion, ChangesWithTheFormat) {
  std::string all;
  for (const char* path : kFiles) all += Code(path) + "\n";
  EXPECT_EQ(Sha256Hex(all), kDigest)
      << "What artifacts mean may have changed. If another version would "
         "misread those of this one, or the other way round, increase "
         "kArtifactVersion of artifact.h (a field that is added and may be "
         "missing needs no new one). Then write the new digest here.";
  EXPECT_EQ(kArtifactVersion, kVersion)
      << "write the new version and its digest here";
}

}  // namespace
}  // namespace aitune::frontend
