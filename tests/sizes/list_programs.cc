#include "tests/sizes/model_programs.h"

namespace aitune::sizes {

std::vector<ModelProgram> ListPrograms() {
  return {
      {"means of chunks side by side",
       R"(def forward(self, x: Tensor):
    parts: List[Tensor] = []
    for i in range(0, x.size(0), 40):
        parts.append(x[i:i + 40].amax(0, keepdim=True))
    y = torch.stack(parts)
    return x * y.size(1), y, torch.cat(parts, 1), y.size(0)
)",
       {}},
      {"chunks of the one row of a batch",
       R"(def forward(self, x: Tensor):
    parts: List[Tensor] = []
    for i in range(0, x.size(1), 32):
        parts.append(torch.softmax(x[:, i:i + 32], -1) * 2)
    y = torch.cat(parts, 1)
    return y * y.size(0), y.sum(0)
)",
       {"float32[1,n=1..130,4]"}},
      {"chunks behind the first",
       R"(def forward(self, x: Tensor):
    parts: List[Tensor] = []
    for i in range(0, x.size(0), 40):
        parts.append(x[i:i + 40].sum(0))
    y = parts[0]
    for part in parts[1:]:
        y = y * 0.5 + part
    return y, len(parts[1:]), parts[-1], torch.stack([x[0]] + parts)
)",
       {}},
      {"chunks and what is put behind them",
       R"(def forward(self, x: Tensor):
    parts: List[Tensor] = []
    for i in range(0, x.size(0), 40):
        parts.append(x[i:i + 40])
    last = parts[-1]
    parts.append(x * 2)
    return torch.cat(parts), torch.cat(parts[1:]), last.size(0), torch.cat(parts[::2] + [x])
)",
       {}},
      {"no chunk below a length",
       R"(def forward(self, x: Tensor):
    parts = [x]
    for i in range(x.size(0) // 40):
        parts.append(x[i:i + 1])
    y = torch.cat(parts)
    return y, y.size(0) - x.size(0)
)",
       {}},
      {"states of a cell in two lists",
       R"(def forward(self, x: Tensor):
    h = torch.zeros([4])
    c = torch.zeros([4])
    outs: List[Tensor] = []
    states: List[Tensor] = []
    for i in range(x.size(0)):
        c = torch.sigmoid(x[i]) * c + torch.tanh(h)
        h = torch.tanh(c) * x[i]
        outs.append(h)
        states.append(c)
    return torch.stack(outs), torch.stack(states, 1).sum(1), outs[-1]
)",
       {}},
      {"what is beyond a bound is listed",
       R"(def forward(self, x: Tensor):
    rows = [x[0]]
    for i in range(40, x.size(0), 7):
        rows.append(x[i] * i)
    m = max(x.size(0) - 60, 0)
    return torch.stack(rows), x[:m], torch.zeros([m + 1])
)",
       {}},
      {"the last of a list has another rank",
       R"(def forward(self, x: Tensor):
    rows = [x]
    for i in range(x.size(0) // 40):
        rows.append(x.sum(0))
    y = rows[-1]
    if y.dim() == 1:
        return y * 2, y.dim()
    return y[0] * 3, y.dim()
)",
       {}},
      {"the last of a list has another dtype",
       R"(def forward(self, x: Tensor):
    rows: List[Tensor] = []
    for i in range(0, x.size(0), 40):
        if i > 30:
            rows.append(x[i:i + 40].sum(0).long())
        else:
            rows.append(x[i:i + 40])
    return rows[-1].dtype, rows[-1].dim(), rows[0] + 1
)",
       {}},
      {"chunks are taken out of a list",
       R"(def forward(self, x: Tensor):
    parts: List[Tensor] = []
    for i in range(0, x.size(0), 40):
        parts.append(x[i:i + 40])
    last = parts.pop()
    return last * 2, last.size(0), len(parts), torch.cat(parts + [last])
)",
       {}},
      {"an image is resized by a factor that rounds",
       R"(def forward(self, x: Tensor):
    y = x.t().unsqueeze(0)
    small = torch.upsample_nearest1d(y, None, [0.7])
    return small, small.size(2), torch.upsample_nearest1d(y, None, [1.5])
)",
       {"float32[1..512,4]"}},
      {"a quantised sequence is cut",
       R"(def forward(self, x: Tensor):
    q = torch.quantize_per_tensor(x, 0.1, 0, 13)
    return q[:50].dequantize(), torch.cat([q, q[:x.size(0) // 40]]).dequantize(), x * q[::40].size(0)
)",
       {}},
      {"positions beyond a bound in a long row",
       R"(def forward(self, x: Tensor):
    i = torch.arange(x.size(0) * 300)
    return x * (1 + (i > 30000).nonzero().size(0)), (i % 300 == 299).nonzero().size(0)
)",
       {}},
      {"two lengths that make a hundred",
       R"(def forward(self, x: Tensor, y: Tensor):
    both = torch.tensor([x.size(0)]) + torch.tensor([y.size(0)])
    return (both == 100).nonzero().size(0), x.sum() * y.sum()
)",
       {"float32[a=30..70,2]", "float32[b=30..70,3]"}},
  };
}

}  // namespace aitune::sizes
