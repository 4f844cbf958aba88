#include "quant/schemes/golden.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "absl/strings/escaping.h"

namespace aitune::quant {
namespace {

constexpr char kPath[] = "quant/schemes/testdata/golden.txt";

[[noreturn]] void Fail(const std::string& line) {
  std::fprintf(stderr, "%s can't be read at \"%.60s\"\n", kPath, line.c_str());
  std::abort();
}

GoldenTensor ReadTensor(std::istringstream& fields, const std::string& line) {
  GoldenTensor tensor;
  std::string dtype, values;
  fields >> tensor.name >> dtype >> tensor.matrix.rows >>
      tensor.matrix.columns >> values;
  if (!fields || !ParseDataType(dtype).has_value()) Fail(line);
  tensor.matrix.dtype = *ParseDataType(dtype);
  tensor.matrix.row_stride = tensor.matrix.columns;
  tensor.values = absl::HexStringToBytes(values);
  return tensor;
}

GoldenResult ReadResult(std::istringstream& fields, const std::string& format,
                        const std::string& line) {
  GoldenResult result;
  result.format = format;
  std::string granularity, codes, scales;
  fields >> granularity >> codes >> scales;
  if (!fields) Fail(line);
  result.granularity =
      granularity == "row" ? Granularity::kPerRow : Granularity::kPerTensor;
  result.codes = absl::HexStringToBytes(codes);
  const std::string bytes = absl::HexStringToBytes(scales);
  result.scales.resize(bytes.size() / sizeof(float));
  std::memcpy(result.scales.data(), bytes.data(), bytes.size());
  return result;
}

Golden Read() {
  Golden golden;
  std::ifstream file(kPath);
  if (!file) Fail("");
  std::string line, kind;
  while (std::getline(file, line)) {
    std::istringstream fields(line);
    fields >> kind;
    if (kind == "cast") {
      fields >> golden.cast_sha256;
    } else if (kind == "tensor") {
      golden.tensors.push_back(ReadTensor(fields, line));
    } else if (golden.tensors.empty()) {
      Fail(line);
    } else {
      golden.tensors.back().results.push_back(ReadResult(fields, kind, line));
    }
  }
  for (GoldenTensor& tensor : golden.tensors)
    tensor.matrix.data = tensor.values.data();
  return golden;
}

}  // namespace

const Golden& GoldenFile() {
  static const Golden* const golden = new Golden(Read());
  return *golden;
}

}  // namespace aitune::quant
