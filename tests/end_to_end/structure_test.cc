// Control flow, recurrent networks, nested inputs and outputs, fallbacks and
// data-dependent shapes.
#include <ATen/ATen.h>
#include <ATen/core/ivalue.h>

#include "frontend/compiled_model/compiled_model.h"
#include "tests/end_to_end/end_to_end.h"

namespace aitune {
namespace {

const Case kControlFlowCases[] = {
    {"if_on_shape",
     R"(
def forward(self, x: Tensor):
    if x.size(0) > 2:
        y = x + 1.0
    else:
        y = x - 1.0
    return y * 2.0
)",
     {"float32[3,4]"}},
    {"if_on_dtype_and_none",
     R"(
def forward(self, x: Tensor, y: Optional[Tensor] = None):
    if y is not None:
        x = x + y
    if x.dtype == 6:
        x = x * 2.0
    return x
)",
     {"float32[3,4]"}},
    {"loop_of_known_length",
     R"(
def forward(self, x: Tensor):
    for i in range(4):
        x = torch.tanh(x) + float(i)
    return x
)",
     {"float32[3,4]"}},
    {"loop_over_a_list",
     R"(
def forward(self, x: Tensor):
    parts: List[Tensor] = []
    for i in range(3):
        parts.append(x * float(i + 1))
    return torch.cat(parts, 0)
)",
     {"float32[2,4]"}},
    {"while_on_a_counter",
     R"(
def forward(self, x: Tensor):
    n = 1
    while n < 20:
        x = x * 0.5 + 1.0
        n = n * 2
    return x
)",
     {"float32[3,4]"}},
    {"if_on_data",
     R"(
def forward(self, x: Tensor):
    if bool(x.sum() > 0):
        y = torch.relu(x)
    else:
        y = x - 1.0
    return y * 2.0
)",
     {"float32[3,4]"},
     {"*"}},
    {"loop_on_data",
     R"(
def forward(self, x: Tensor):
    n = 0
    y = torch.clamp(x, -4.0, 4.0)
    while bool(y.abs().max() > 0.5) and n < 8:
        y = y * 0.5
        n += 1
    return y, n
)",
     {"float32[3,4]"},
     {"*"}},
    {"early_return",
     R"(
def forward(self, x: Tensor):
    if x.dim() == 2:
        return x * 3.0
    return x
)",
     {"float32[3,4]"}},
    {"sizes_in_arithmetic",
     R"(
def forward(self, x: Tensor):
    b, n = x.size(0), x.size(1)
    return x.view([b, n // 2, 2]).sum(2) / float(n)
)",
     {"float32[3,8]"}},
    {"sizes_as_a_tensor",
     R"(
def forward(self, x: Tensor):
    sizes = torch._shape_as_tensor(x)
    half = torch.min(sizes[-2:]).to(6) * 0.5
    n = int(half)
    m = torch.empty([], dtype=4).fill_(x.size(1) // sizes[1])
    return torch.relu(x[:, :n]), torch.arange(n) * m
)",
     {"float32[3,8,16]"}},
};
END_TO_END_TESTS(ControlFlow, kControlFlowCases);

const Case kRecurrentCases[] = {
    {"lstm",
     R"(
def forward(self, x: Tensor):
    zeros = torch.zeros([1, 2, 16])
    params = [self.weight(512, [64, 8]) * 0.3, self.weight(1024, [64, 16]) * 0.3, self.weight(64, [64]), self.weight(64, [64]) * 0.5]
    y, h, c = torch.lstm(x, [zeros, zeros], params, True, 1, 0.0, False, False, True)
    return y, h, c
)",
     {"float32[2,5,8]"}},
    {"gru",
     R"(
def forward(self, x: Tensor):
    zeros = torch.zeros([1, 2, 16])
    params = [self.weight(384, [48, 8]) * 0.3, self.weight(768, [48, 16]) * 0.3, self.weight(48, [48]), self.weight(48, [48]) * 0.5]
    y, h = torch.gru(x, zeros, params, True, 1, 0.0, False, False, True)
    return y, h
)",
     {"float32[2,5,8]"},
     {"*"}},
    {"lstm_of_two_layers",
     R"(
def forward(self, x: Tensor):
    params: List[Tensor] = []
    for width in [8, 12]:
        params.append(self.weight(48 * width, [48, width]) * 0.3)
        params.append(self.weight(576, [48, 12]) * 0.3)
    return torch.lstm(x, [x[0, :, :6].repeat([2, 1, 2]), torch.ones([2, 3, 12])], params, False, 2, 0.0, False, False, False)
)",
     {"float32[5,3,8]"}},
    {"lstm_in_both_directions_with_projections",
     R"(
def forward(self, x: Tensor):
    params: List[Tensor] = []
    for direction in range(2):
        params.append(self.weight(384, [48, 8]) * 0.3)
        params.append(self.weight(240, [48, 5]) * 0.3)
        params.append(self.weight(48, [48]))
        params.append(self.weight(48, [48]) * 0.5)
        params.append(self.weight(60, [5, 12]) * 0.3)
    return torch.lstm(x, [torch.ones([2, 3, 5]), torch.zeros([2, 3, 12])], params, True, 1, 0.0, False, True, True)
)",
     {"float32[3,7,8]"}},
    {"gru_in_both_directions",
     R"(
def forward(self, x: Tensor):
    params: List[Tensor] = []
    for k in range(4):
        width = 8 if k < 2 else 24
        params.append(self.weight(36 * width, [36, width]) * 0.3)
        params.append(self.weight(432, [36, 12]) * 0.3)
        params.append(self.weight(36, [36]))
        params.append(self.weight(36, [36]) * 0.5)
    return torch.gru(x, torch.ones([4, x.size(0), 12]) * 0.1, params, True, 2, 0.0, False, True, True)
)",
     {"float32[1..6,7,8]"}},
    {"lstm_written_out",
     R"(
def forward(self, x: Tensor):
    h = torch.zeros([2, 16])
    c = torch.zeros([2, 16])
    w = self.weight(1536, [64, 24]) * 0.3
    for t in range(5):
        gates = torch.linear(torch.cat([x[:, t], h], 1), w)
        i, f, g, o = torch.chunk(gates, 4, 1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        h = torch.sigmoid(o) * torch.tanh(c)
    return h, c
)",
     {"float32[2,5,8]"}},
};
END_TO_END_TESTS(Recurrent, kRecurrentCases);

const Case kNestingCases[] = {
    {"tuple_output",
     R"(
def forward(self, x: Tensor):
    return (x + 1.0, (x * 2.0, x - 1.0))
)",
     {"float32[3,4]"}},
    {"list_output",
     R"(
def forward(self, x: Tensor):
    return [x + 1.0, x * 2.0]
)",
     {"float32[3,4]"}},
    {"dict_output",
     R"(
def forward(self, x: Tensor):
    return {"sum": x + 1.0, "product": x * 2.0}
)",
     {"float32[3,4]"}},
    {"numbers_in_the_output",
     R"(
def forward(self, x: Tensor):
    return x + 1.0, x.size(0), 2.5, "text"
)",
     {"float32[3,4]"}},
    {"tuple_input",
     R"(
def forward(self, x: Tuple[Tensor, Tensor]):
    a, b = x
    return a * b
)",
     {"(float32[3,4], float32[4])"}},
    {"list_input",
     R"(
def forward(self, x: List[Tensor]):
    return torch.cat(x, 0)
)",
     {"[float32[3,4], float32[2,4]]"}},
    {"number_input",
     R"(
def forward(self, x: Tensor, n: int, s: float, flag: bool):
    y = x * s + float(n)
    if flag:
        y = -y
    return y
)",
     {"float32[3,4]", "int64=3", "float64=0.5", "bool=true"}},
    {"optional_input",
     R"(
def forward(self, x: Tensor, y: Optional[Tensor]):
    return x if y is None else x + y
)",
     {"float32[3,4]", "none"}},
    {"no_input",
     R"(
def forward(self):
    return torch.arange(6, dtype=6) * 2.0
)",
     {}},
};
END_TO_END_TESTS(Nesting, kNestingCases);

const Case kFallbackCases[] = {
    // Compiled, LibTorch, compiled: values cross in both directions.
    {"in_the_middle",
     R"(
def forward(self, x: Tensor):
    y = torch.relu(x) + 1.0
    z = torch.linalg_inv(torch.matmul(y, torch.t(y)) + torch.eye(4) * 5.0)
    return torch.matmul(z, y) * 2.0
)",
     {"float32[4,8]"},
     {"aten::linalg_inv", "aten::linalg_inv_ex", "aten::eye"}},
    {"several_outputs",
     R"(
def forward(self, x: Tensor):
    values, indices = torch.sort(x * 2.0, -1)
    return torch.relu(values), torch.gather(x, 1, indices)
)",
     {"float32[4,9]"},
     {"aten::sort"}},
    {"complex_numbers",
     R"(
def forward(self, x: Tensor):
    return torch.abs(torch.fft_rfft(x * 2.0)) + 1.0
)",
     {"float32[4,16]"},
     {"*"}},
    {"data_dependent_shape",
     R"(
def forward(self, x: Tensor):
    kept = torch.masked_select(x * 2.0, x > 0.0)
    return torch.relu(kept).sum(), x + 1.0
)",
     {"float32[4,9]"},
     {"*"}},
    {"nonzero",
     R"(
def forward(self, x: Tensor):
    return torch.nonzero(x > 0.0)
)",
     {"float32[4,9]"},
     {"*"}},
    {"number_from_data",
     R"(
def forward(self, x: Tensor):
    s = float(x.max())
    return x * s
)",
     {"float32[4,9]"},
     {"*"}},
    {"list_from_data",
     R"(
def forward(self, x: Tensor):
    n = int((x > 0.0).sum())
    return x[:, :2] + float(n), [n, n + 1]
)",
     {"float32[4,9]"},
     {"*"}},
    {"argument_for_the_result_of_other_sizes",
     R"(
def forward(self, x: Tensor, out: Tensor):
    return torch.add(x, 1.0, out=out) * 2.0
)",
     {"float32[3,4]", "float32[2]"},
     {"*"}},
    {"argument_whose_axes_are_exchanged",
     R"(
def forward(self, x: Tensor):
    x.t_()
    return torch.relu(x) * 2.0
)",
     {"float32[3,4]"},
     {"*"}},
};
END_TO_END_TESTS(Fallback, kFallbackCases);

// Each call has tensors of its own as keys, not those of the sample.
TEST(NestingTest, KeysThatAreTensors) {
  const auto model = frontend::Model::FromSource(R"(
def forward(self, x: Tensor, d: Dict[Tensor, str]):
    for key in d.keys():
        x = x * key
    return x + len(d)
)");
  ASSERT_TRUE(model.ok()) << model.status();
  c10::Dict<at::Tensor, std::string> dict;
  dict.insert(at::ones({3}), "foo");
  dict.insert(at::ones({3}), "bar");
  frontend::ModelInputs inputs;
  inputs.samples = frontend::ValueList({at::rand({2, 3}), dict});
  frontend::BuildOptions options;
  options.compile.measureCandidates = false;
  const auto compiled = frontend::CompiledModel::Build(*model, inputs, options);
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  const frontend::ValueList arguments = inputs.samples->MapTensors(
      [](const at::Tensor& tensor) { return tensor * 2; });
  const auto ours = (*compiled)->Run(arguments);
  ASSERT_TRUE(ours.ok()) << ours.status();
  EXPECT_TRUE(
      at::equal(ours->toTensor(), model->RunEager(arguments)->toTensor()));
}

}  // namespace
}  // namespace aitune
