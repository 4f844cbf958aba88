#include "tests/sizes/model_programs.h"

namespace aitune::sizes {

std::vector<ModelProgram> RarePrograms() {
  const std::vector<std::string> two = {"float32[n=1..130,3]",
                                        "float32[m=1..130,2]"};
  // n * m mod 997 is 996 there.
  const std::vector<std::vector<int64_t>> pairs = {
      {83, 12}, {46, 65}, {56, 89}, {130, 23}, {115, 26}};
  return {
      {"a count that is one more at the multiples of a stride",
       R"(def forward(self, x: Tensor):
    b = torch.arange(x.size(0) // 400 + 1) * 1.5
    return b, x[::400] * 2
)",
       {"float32[1..8192,1]"},
       {{400}, {800}, {8000}, {401}}},
      {"blocks rounded up in two ways",
       R"(def forward(self, x: Tensor):
    n = x.size(0)
    a = x.new_zeros([(n + 255) // 256]) + 1
    b = x.new_zeros([n // 256 + 1]) + 1
    return a, b, x.new_zeros([(n - 1) // 256 + 1]) + 2
)",
       {"float32[1..5000,1]"},
       {{256}, {2560}, {4864}}},
      {"a number that is one for few pairs",
       R"(def forward(self, x: Tensor, y: Tensor):
    k = (x.size(0) + y.size(0)) % 200 // 199
    joined = torch.cat([x[:x.size(0) - k] * 2, x])
    tail = joined[k:].relu()
    return x * (x.size(0) + k), torch.cat([joined, tail]).exp().sum(1), x.new_zeros([k])
)",
       two,
       {{71, 128}, {100, 99}, {112, 87}}},
      {"a branch on data with a cut that few sizes have",
       R"(def forward(self, x: Tensor):
    n = x.size(0)
    if x.sum() > 0:
        y = x[:n - n * n % 101 // 100] * 2
    else:
        y = x[:n - n * n % 101 // 100]
    return y, y.size(0)
)",
       {},
       {{91}, {111}, {10}}},
      {"a branch on data with a cut between two bounds",
       R"(def forward(self, x: Tensor):
    n = x.size(0)
    y = x
    if x.sum() > 0:
        k = min(max(n * 3 - 230, 0), 1) - min(max(n * 3 - 232, 0), 1)
        y = x[:n - k] * 2
    else:
        k = min(max(n * 3 - 230, 0), 1) - min(max(n * 3 - 232, 0), 1)
        y = x[:n - k]
    return y, y.size(0)
)",
       {},
       {{77}, {76}, {78}}},
      {"a branch on data with a cut that few pairs have",
       R"(def forward(self, x: Tensor, y: Tensor):
    n = x.size(0)
    z = x
    while z.sum() > 1:
        z = x[:n - n * y.size(0) % 997 // 996] * 0.0001
    return z, z.size(0)
)",
       two, pairs},
      {"the last of a long loop has another length at few sizes",
       R"(def forward(self, x: Tensor):
    n = x.size(0)
    z = x.new_zeros([n])
    for i in range(n * 20):
        z = x.new_zeros([1 + n * i * n % 101 // 100])
    return z, z.size(0)
)",
       {},
       {{91}, {112}}},
      {"chunks that overlap for few pairs",
       R"(def forward(self, x: Tensor, y: Tensor):
    parts = [x]
    for i in range(0, x.size(0), 40):
        parts.append(x[i:i + 40 + x.size(0) * y.size(0) % 997 // 996])
    whole = torch.cat(parts)
    return whole, whole.size(0), parts[1].size(0)
)",
       two, pairs},
      {"chunks of a length that few pairs have",
       R"(def forward(self, x: Tensor, y: Tensor):
    parts = [x]
    k = x.size(0) * y.size(0) % 997 // 996
    for i in range(0, x.size(0), 40):
        parts.append(x[i:i + 40 + k])
    return torch.cat(parts), parts[1].size(0)
)",
       two, pairs},
      {"a stride that few pairs have",
       R"(def forward(self, x: Tensor, y: Tensor):
    z = x.new_zeros([2, x.size(0), y.size(0)])
    if z.stride(0) & 1023 == 1000:
        return x * 2
    return x + 1
)",
       {"float32[n=1..300,3]", "float32[m=1..300,2]"},
       {{8, 125}, {125, 8}, {40, 25}}},
      {"a number that each round adds something of itself to",
       R"(def forward(self, x: Tensor):
    k = x.size(0)
    for i in range(40):
        k = k + k * x.size(0) % 101 // 100
    return x[k - x.size(0):], k
)",
       {},
       {{91}, {111}, {10}}},
      {"the greatest of rows that are none at few sizes",
       R"(def forward(self, x: Tensor):
    return x[:x.size(0) % 60].max(0)[0], x[:x.size(0) % 60].min()
)",
       {},
       {{60}, {120}, {61}}},
  };
}

}  // namespace aitune::sizes
