#include "tests/sizes/model_programs.h"

namespace aitune::sizes {

std::vector<ModelProgram> UserPrograms() {
  return {
      {"beam search step",
       R"(def forward(self, scores: Tensor, running: Tensor):
    b = scores.size(0)
    v = scores.size(1)
    k = min(4, v)
    total = torch.log_softmax(scores, -1) + running.unsqueeze(1)
    best, flat = torch.topk(total.view([-1]), min(2 * k, b * v))
    beam = flat // v
    token = flat % v
    keep = torch.ne(token, 0)
    best = torch.where(keep, best, torch.full_like(best, -1e9))
    top, order = torch.topk(best, min(k, best.size(0)))
    return top, beam.index_select(0, order), token.index_select(0, order)
)",
       {"float32[b=1..5,v=3..70]", "float32[b=1..5]"}},
      {"non-maximum suppression",
       R"(def forward(self, boxes: Tensor, scores: Tensor):
    order = torch.argsort(scores, 0, True)
    boxes = boxes.index_select(0, order)
    xy = boxes[:, :2]
    wh = torch.abs(boxes[:, 2:]) + 0.1
    low = torch.max(xy.unsqueeze(1), xy.unsqueeze(0))
    high = torch.min((xy + wh).unsqueeze(1), (xy + wh).unsqueeze(0))
    side = torch.clamp(high - low, 0)
    both = side[:, :, 0] * side[:, :, 1]
    area = wh[:, 0] * wh[:, 1]
    iou = both / (area.unsqueeze(1) + area.unsqueeze(0) - both)
    n = boxes.size(0)
    keep = torch.ones([n], dtype=11)
    for i in range(min(n, 12)):
        later = torch.arange(n) > i
        keep = keep & ~(keep[i] & later & (iou[i] > 0.5))
    return order, keep, keep.sum()
)",
       {"float32[n=1..40,4]", "float32[n=1..40]"}},
      {"pad to a multiple and unpad",
       R"(def forward(self, x: Tensor):
    n = x.size(0)
    target = ((n + 15) // 16) * 16
    mask = torch.zeros([target], dtype=11)
    mask[:n] = True
    padded = x.new_zeros([target, 4])
    padded[:n] = x
    y = torch.softmax(padded @ padded.t() + torch.where(mask, 0.0, -1e4), -1) @ padded
    return y[:n], target // 16
)",
       {}},
      {"ragged batch from lengths of chunks",
       R"(def forward(self, x: Tensor):
    parts: List[Tensor] = []
    start = 0
    size = 1
    while start < x.size(0):
        parts.append(x[start:start + size])
        start += size
        size = min(size * 2, 32)
    longest = 0
    for p in parts:
        longest = max(longest, p.size(0))
    rows = x.new_zeros([len(parts), longest, 4])
    for i, p in enumerate(parts):
        rows[i, :p.size(0)] = p
    return rows, [p.size(0) for p in parts]
)",
       {}},
      {"chunked attention",
       R"(def forward(self, q: Tensor, k: Tensor):
    outs: List[Tensor] = []
    step = 24
    for i in range(0, q.size(0), step):
        part = q[i:i + step]
        limit = min(i + part.size(0), k.size(0))
        s = part @ k[:limit].t() * 0.5
        row = torch.arange(i, i + part.size(0)).unsqueeze(1)
        col = torch.arange(limit).unsqueeze(0)
        s = torch.where(col <= row, s, torch.full_like(s, -10000.0))
        outs.append(torch.softmax(s, -1) @ k[:limit])
    return torch.cat(outs)
)",
       {"float32[a=1..75,4]", "float32[b=1..60,4]"}},
      {"online softmax by blocks",
       R"(def forward(self, x: Tensor):
    n = x.size(0)
    m = x.new_full([4], -10000.0)
    s = x.new_zeros([4])
    for start in range(0, n, 50):
        block = x[start:min(start + 50, n)]
        top = torch.maximum(m, block.max(0)[0])
        s = s * torch.exp(m - top) + torch.exp(block - top).sum(0)
        m = top
    return m + torch.log(s)
)",
       {}},
      {"einsum of dynamic axes",
       R"(def forward(self, x: Tensor, y: Tensor):
    a = torch.einsum("ik,jk->ij", [x, y])
    b = torch.einsum("ij,jk,ik->i", [a, y, x])
    c = torch.einsum("ii->i", [torch.einsum("ij,kj->ik", [a, a])])
    return a, b, c, torch.einsum("...k->...", [x])
)",
       {"float32[a=1..33,4]", "float32[b=1..21,4]"}},
      {"interpolation to the size of another",
       R"(def forward(self, x: Tensor, y: Tensor):
    size = [y.size(-2), y.size(-1)]
    up = torch.upsample_bilinear2d(x, size, False)
    near = torch.upsample_nearest2d(x, size)
    return up + y, near - y, torch.adaptive_avg_pool2d(x, [max(size[0] // 2, 1), 1])
)",
       {"float32[1,2,h=2..13,w=2..11]", "float32[1,2,g=1..17,v=1..9]"}},
      {"roll by sizes",
       R"(def forward(self, x: Tensor):
    n = x.size(0)
    a = torch.roll(x, n // 3, 0)
    b = torch.roll(x, [-(n % 5), n], [0, 1])
    return a + b, torch.roll(x.flatten(), 2 * n - 7)
)",
       {}},
      {"masks by cumulative sums",
       R"(def forward(self, x: Tensor):
    starts = (torch.arange(x.size(0)) % 9 == 0).to(4)
    segment = starts.cumsum(0)
    same = segment.unsqueeze(0) == segment.unsqueeze(1)
    position = torch.arange(x.size(0)) - torch.cummax(torch.arange(x.size(0)) * starts, 0)[0]
    y = torch.where(same, x @ x.t(), torch.zeros([1]))
    return y.sum(1), position, segment[-1]
)",
       {}},
      {"loop that halves sizes",
       R"(def forward(self, x: Tensor):
    n = x.size(0)
    level = 0
    while n > 1:
        half = n // 2
        y = x[:half] + x[half:2 * half]
        if n % 2 == 1:
            y = torch.cat([y, x[2 * half:]])
        x = y
        n = x.size(0)
        level += 1
    return x, level
)",
       {}},
      {"outputs by name",
       R"(def forward(self, x: Tensor):
    n = x.size(0)
    out = {"mean": x.mean(0), "length": torch.tensor(n)}
    if n > 60:
        out["tail"] = x[60:]
    out["last"] = x[-1]
    return out
)",
       {}},
      {"sinusoidal positions by parity",
       R"(def forward(self, x: Tensor):
    n = x.size(0)
    position = torch.arange(n, dtype=6).unsqueeze(1)
    rate = torch.exp(torch.arange(0, 4, 2, dtype=6) * -2.3)
    table = torch.zeros([n, 4])
    table[:, 0::2] = torch.sin(position * rate)
    table[:, 1::2] = torch.cos(position * rate)
    return x + table
)",
       {}},
      {"sliding key cache",
       R"(def forward(self, keys: Tensor, x: Tensor):
    all = torch.cat([keys, x])
    if all.size(0) > 48:
        all = all[all.size(0) - 48:]
    past = all.size(0) - x.size(0)
    n = min(x.size(0), 48)
    q = x[-n:]
    row = torch.arange(n).unsqueeze(1) + (all.size(0) - n)
    mask = torch.arange(all.size(0)).unsqueeze(0) <= row
    s = (q @ all.t()).masked_fill(~mask, -10000.0)
    return torch.softmax(s, -1) @ all, past, all
)",
       {"float32[p=1..60,4]", "float32[n=1..60,4]"}},
      {"grouped by a remainder",
       R"(def forward(self, x: Tensor):
    groups = 4 if x.size(0) % 4 == 0 else (3 if x.size(0) % 3 == 0 else 1)
    y = x.view([groups, x.size(0) // groups, 4])
    mean = y.mean([1, 2], True)
    var = ((y - mean) * (y - mean)).mean([1, 2], True)
    return ((y - mean) * torch.rsqrt(var + 1e-5)).reshape(x.size()), groups
)",
       {}},
      {"top fraction",
       R"(def forward(self, x: Tensor):
    norm = (x * x).sum(1)
    k = max(1, int(round(x.size(0) * 0.25)))
    value, index = torch.topk(norm, k)
    rest = x.size(0) - k
    return x.index_select(0, index), value[-1], rest
)",
       {}},
      {"dynamic convolution padding",
       R"(def forward(self, x: Tensor):
    y = x.t().unsqueeze(0)
    stride = 3
    length = y.size(2)
    out = (length + stride - 1) // stride
    pad = max((out - 1) * stride + 5 - length, 0)
    y = torch.constant_pad_nd(y, [pad // 2, pad - pad // 2])
    y = torch.conv1d(y, torch.sin(torch.arange(40, dtype=6)).view([2, 4, 5]), None, [stride])
    assert y.size(2) == out
    return y
)",
       {}},
      {"stack of shifted copies",
       R"(def forward(self, x: Tensor):
    n = x.size(0)
    rows: List[Tensor] = []
    for d in range(-2, 3):
        low = max(d, 0)
        high = min(n + d, n)
        part = x[low:high] if high > low else x[:0]
        before = max(-d, 0)
        rows.append(torch.constant_pad_nd(part, [0, 0, min(before, n), n - part.size(0) - min(before, n)]))
    return torch.stack(rows).sum(0)
)",
       {}},
      {"block diagonal mask of two sizes",
       R"(def forward(self, x: Tensor, y: Tensor):
    n = x.size(0)
    m = y.size(0)
    mask = torch.zeros([n + m, n + m])
    mask[:n, :n] = 1
    mask[n:, n:] = 2
    both = torch.cat([x, y])
    return mask @ both, torch.block_diag([torch.ones([n, 1]), torch.ones([m, 2])])
)",
       {"float32[a=1..30,4]", "float32[b=1..30,4]"}},
      {"longest of a batch of two",
       R"(def forward(self, x: Tensor, y: Tensor):
    if x.size(0) == y.size(0):
        return torch.stack([x, y])
    n = max(x.size(0), y.size(0))
    padded: List[Tensor] = []
    for t in [x, y]:
        padded.append(torch.cat([t, t.new_zeros([n - t.size(0), 4])]))
    return torch.stack(padded)
)",
       {"float32[a=1..20,4]", "float32[b=1..20,4]"}},
      {"mel frames",
       R"(def forward(self, x: Tensor):
    wave = x.flatten()
    if wave.size(0) < 16:
        wave = torch.constant_pad_nd(wave, [0, 16 - wave.size(0)])
    frames = wave.unfold(0, 16, 6) * torch.hann_window(16)
    power = (frames * frames).mean(1)
    return power, frames.size(0), torch.log(power + 1).cumsum(0)
)",
       {}},
      {"split of heads that fit",
       R"(def forward(self, x: Tensor):
    n = x.size(0)
    heads = 1
    for h in [2, 3, 5, 7]:
        if n % h == 0:
            heads = h
    parts: List[Tensor] = []
    for i, p in enumerate(torch.chunk(x, heads)):
        parts.append(p * (i + 1))
    return torch.cat(parts), heads
)",
       {}},
      {"text of sizes decides",
       R"(def forward(self, x: Tensor):
    name = "long" if x.size(0) > 77 else "short"
    scale = {"long": 0.5, "short": 2.0}
    key = "{}_{}".format(name, x.size(0) % 2)
    return x * scale[name], key
)",
       {}},
      {"mean by counts",
       R"(def forward(self, x: Tensor):
    n = x.size(0)
    index = (torch.arange(n) * 7) % max(n // 4, 1)
    bins = max(n // 4, 1)
    total = torch.zeros([bins, 4]).index_add(0, index, x)
    count = torch.zeros([bins]).index_add(0, index, torch.ones([n]))
    return total / torch.clamp(count, 1).unsqueeze(1), count
)",
       {}},
      {"lower triangle as a list",
       R"(def forward(self, x: Tensor):
    n = min(x.size(0), 11)
    s = x[:n] @ x[:n].t()
    row = torch.repeat_interleave(torch.arange(n), torch.arange(n) + 1)
    at = torch.tril_indices(n, n)
    return s[at[0], at[1]], row, at.size(1) == n * (n + 1) // 2
)",
       {"float32[n=1..40,4]"}},
      {"dilations until the end",
       R"(def forward(self, x: Tensor):
    y = x.t().unsqueeze(0)
    w = torch.cos(torch.arange(12, dtype=6)).view([4, 1, 3])
    d = 1
    while 2 * d < y.size(2):
        y = y + torch.conv1d(torch.constant_pad_nd(y, [d, d]), w, None, [1], [0], [d], 4)
        d *= 2
    return y, d
)",
       {}},
      {"one row or many",
       R"(def forward(self, x: Tensor):
    y = x.squeeze(0)
    if y.dim() == 1:
        return y.unsqueeze(0) + 1
    return torch.layer_norm(y, [4])[1:]
)",
       {}},
      {"quantile by position",
       R"(def forward(self, x: Tensor):
    s = torch.sort(x, 0)[0]
    n = s.size(0)
    at = (n - 1) * 0.9
    low = int(at)
    high = min(low + 1, n - 1)
    part = at - low
    return s[low] * (1 - part) + s[high] * part, s[n // 2]
)",
       {}},
      {"negative sizes are clamped",
       R"(def forward(self, x: Tensor):
    n = x.size(0)
    y = x[max(n - 100, 0):max(100 - n, 0)]
    z = x[-(n // 2):] if n > 1 else x
    return y, z, x[n:], x[:-n], x[n // 2:n // 3]
)",
       {}},
      {"expert choice",
       R"(def forward(self, x: Tensor):
    n = x.size(0)
    capacity = max(1, n * 2 // 5)
    gate = torch.softmax(x, -1)
    weight, token = torch.topk(gate.t(), capacity, -1)
    picked = x.index_select(0, token.flatten()).view([4, capacity, 4])
    mixed = picked * weight.unsqueeze(-1)
    out = torch.zeros_like(x).index_add(0, token.flatten(), mixed.view([-1, 4]))
    return out, capacity
)",
       {}},
  };
}

}  // namespace aitune::sizes
