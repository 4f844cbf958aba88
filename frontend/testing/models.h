// For tests of compiled models: two small models, and comparisons with eager.
// Differences are failures of the running test.
#ifndef AITUNE_FRONTEND_TESTING_MODELS_H_
#define AITUNE_FRONTEND_TESTING_MODELS_H_

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "frontend/torchscript/model.h"
#include "runtime/logging/logging.h"
#include "runtime/tensor/tensor_view.h"

namespace aitune::frontend {

// Takes float32[n,3] and gives float32[n,4].
inline constexpr char kNet[] = R"(
def forward(self, x: Tensor):
    w = torch.sin(torch.arange(12, dtype=6)).view([3, 4])
    return torch.relu(torch.matmul(x, w)) + 1.5
)";

// torch.bincount has sizes that depend on data: LibTorch runs it.
inline constexpr char kNetWithFallback[] = R"(
def forward(self, x: Tensor):
    n = torch.bincount(torch.gt(x, 0.).to(4).flatten())
    return torch.relu(x) * 2, n
)";

// The TorchScript class of torch.nn.Linear, whose layers are quantised.
inline constexpr char kLinearClass[] =
    "__torch__.torch.nn.modules.linear.Linear";

// The model of TorchScript source; the test ends where there is none.
Model ModelOf(const std::string& source);

// Two linear layers, "first" and "second", with a relu between them: takes
// [n,96] of `dtype` and gives [n,40]. The same weights at each call.
Model TwoLayers(DataType dtype);

// Of the angle between two tensors as vectors.
double CosineOf(const at::Tensor& a, const at::Tensor& b);

// A folder of the running test alone, empty.
std::filesystem::path EmptyFolder();

// The same nesting, dtypes and sizes, and elements that differ by at most
// `tolerance`, relative and absolute.
void ExpectClose(const c10::IValue& ours, const c10::IValue& expected,
                 double tolerance = 1e-5);

// Records all log texts while it lives, as "channel: text", and at its end
// turns off the channels that the test turned on.
class LogCapture {
 public:
  LogCapture();
  ~LogCapture();
  LogCapture(const LogCapture&) = delete;
  LogCapture& operator=(const LogCapture&) = delete;

  // Not while another thread logs.
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  std::vector<std::string> lines_;
  LogSink previous_;
};

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TESTING_MODELS_H_
