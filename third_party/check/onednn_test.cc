// oneDNN: its own version (not the one inside LibTorch), a product, and one
// OpenMP library for both.
#include <ATen/ATen.h>
#include <dlfcn.h>
#include <link.h>

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "oneapi/dnnl/dnnl.hpp"

namespace {

TEST(OneDnnTest, VersionOfLibraryIsThatOfHeaders) {
  const dnnl_version_t* version = dnnl::version();
  EXPECT_EQ(version->major, DNNL_VERSION_MAJOR);
  EXPECT_EQ(version->minor, DNNL_VERSION_MINOR);
  EXPECT_EQ(version->major, 3);
}

TEST(OneDnnTest, MultipliesLikeAten) {
  at::Tensor a = at::randn({4, 8}), b = at::randn({8, 16});
  at::Tensor c = at::empty({4, 16});
  dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  dnnl::stream stream(engine);
  auto memory = [&](at::Tensor& t) {
    dnnl::memory::desc desc({t.size(0), t.size(1)},
                            dnnl::memory::data_type::f32,
                            dnnl::memory::format_tag::ab);
    return dnnl::memory(desc, engine, t.data_ptr());
  };
  dnnl::memory ma = memory(a), mb = memory(b), mc = memory(c);
  dnnl::matmul::primitive_desc desc(engine, ma.get_desc(), mb.get_desc(),
                                    mc.get_desc());
  dnnl::matmul(desc).execute(
      stream, {{DNNL_ARG_SRC, ma}, {DNNL_ARG_WEIGHTS, mb}, {DNNL_ARG_DST, mc}});
  stream.wait();
  EXPECT_TRUE(at::allclose(c, at::matmul(a, b), 1e-4, 1e-5));
}

TEST(OneDnnTest, OneOpenMpLibraryIsLoaded) {
  at::randn({64, 64}).matmul(at::randn({64, 64}));
  std::vector<std::string> found;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* data) {
        std::string name = info->dlpi_name;
        if (name.find("omp.so") != std::string::npos ||
            name.find("omp5.so") != std::string::npos)
          static_cast<std::vector<std::string>*>(data)->push_back(name);
        return 0;
      },
      &found);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NE(found[0].find("libgomp"), std::string::npos) << found[0];
}

}  // namespace
