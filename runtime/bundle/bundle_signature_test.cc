#include "runtime/bundle/bundle_signature.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace aitune {
namespace {

using testing::HasSubstr;

// The keys of the first two tests of RFC 8032, section 7.1, in PEM.
constexpr char kSecret[] =
    "-----BEGIN PRIVATE KEY-----\n"
    "MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n"
    "-----END PRIVATE KEY-----\n";
constexpr char kPublic[] =
    "-----BEGIN PUBLIC KEY-----\n"
    "MCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\n"
    "-----END PUBLIC KEY-----\n";
constexpr char kOtherPublic[] =
    "-----BEGIN PUBLIC KEY-----\n"
    "MCowBQYDK2VwAyEAPUAXw+hDiVqStwqnTRt+vJyYLM8uxJaMwM1V8Sr0Zgw=\n"
    "-----END PUBLIC KEY-----\n";

class BundleSignatureTest : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    Write("secret.pem", kSecret);
    Write("public.pem", kPublic);
    Write("other.pem", kOtherPublic);
  }
  void Write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }
  std::string Read(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  absl::Status Verify(const std::string& key) {
    return VerifiedDigest(bundle_, folder_ / key).status();
  }

  const std::filesystem::path folder_ =
      std::filesystem::path(testing::TempDir()) / "bundle_signature_test";
  const std::filesystem::path bundle_ = folder_ / "net.aitune";
  const std::string digest_ = std::string(64, 'a');
};

TEST_F(BundleSignatureTest, TheOwnerOfTheKeySigned) {
  const absl::Status signed_it =
      SignBundle(bundle_, digest_, folder_ / "secret.pem");
  ASSERT_TRUE(signed_it.ok()) << signed_it;
  EXPECT_TRUE(std::filesystem::exists(folder_ / "net.aitune.sig"));
  const auto digest = VerifiedDigest(bundle_, folder_ / "public.pem");
  ASSERT_TRUE(digest.ok()) << digest.status();
  EXPECT_EQ(*digest, digest_);
  const absl::Status other = Verify("other.pem");
  EXPECT_TRUE(absl::IsPermissionDenied(other)) << other;
}

TEST_F(BundleSignatureTest, EveryBitOfTheFileCounts) {
  ASSERT_TRUE(SignBundle(bundle_, digest_, folder_ / "secret.pem").ok());
  const std::string whole = Read(SignaturePath(bundle_));
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string changed = whole;
    changed[i] ^= 1;
    Write("net.aitune.sig", changed);
    EXPECT_FALSE(Verify("public.pem").ok()) << i;
  }
  for (const size_t size : {size_t{0}, size_t{10}, whole.size() - 1}) {
    Write("net.aitune.sig", whole.substr(0, size));
    EXPECT_TRUE(absl::IsDataLoss(Verify("public.pem"))) << size;
  }
}

TEST_F(BundleSignatureTest, WrongFilesAreErrorsThatNameThem) {
  EXPECT_TRUE(absl::IsNotFound(Verify("public.pem")));  // not signed
  EXPECT_TRUE(absl::IsNotFound(Verify("nothing.pem")));
  EXPECT_TRUE(absl::IsInvalidArgument(Verify("secret.pem")));
  Write("text.pem", "not a key");
  EXPECT_THAT(std::string(Verify("text.pem").message()),
              HasSubstr("text.pem holds no public Ed25519 key"));
  EXPECT_TRUE(absl::IsNotFound(Verify("")));  // a folder
  const absl::Status status =
      SignBundle(bundle_, digest_, folder_ / "public.pem");
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_FALSE(std::filesystem::exists(SignaturePath(bundle_)));
}

TEST_F(BundleSignatureTest, FoldersHaveTheirSignatureBesideThem) {
  EXPECT_EQ(SignaturePath("out/net/"), "out/net.sig");
  EXPECT_EQ(SignaturePath("net.aitune"), "net.aitune.sig");
}

}  // namespace
}  // namespace aitune
