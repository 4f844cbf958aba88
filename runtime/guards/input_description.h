// The inputs of one call, and the inputs that an executable was compiled for:
// the two things a guard compares.
#ifndef AITUNE_RUNTIME_GUARDS_INPUT_DESCRIPTION_H_
#define AITUNE_RUNTIME_GUARDS_INPUT_DESCRIPTION_H_

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "runtime/tensor/data_type.h"
#include "runtime/tensor/tensor_view.h"

namespace aitune {

// How the elements of a tensor lie in memory.
enum class MemoryLayout : uint8_t {
  kContiguous,    // row-major
  kChannelsLast,  // [N, C, H, W] stored as [N, H, W, C]
  kStrided,       // anything else
};

// "contiguous", "channels_last", "strided".
std::string_view Name(MemoryLayout layout);

// The layout that sizes and strides (in elements) mean. Axes of size 1 may have
// any stride, as in LibTorch; a tensor that is both is contiguous.
MemoryLayout LayoutOf(absl::Span<const int64_t> sizes,
                      absl::Span<const int64_t> strides);

// The type of an input: a tensor, or one of Python's plain values.
enum class InputKind : uint8_t { kTensor, kNone, kInt, kFloat, kBool, kString };

// One input of a call, by reference: made and compared at every call, so it
// owns nothing and allocates nothing.
struct CallInput {
  InputKind kind = InputKind::kTensor;
  // The properties of a tensor:
  DataType dtype = DataType::kFloat32;
  MemoryLayout layout = MemoryLayout::kContiguous;
  std::string_view device = "cpu";  // or "cuda:0"
  absl::Span<const int64_t> sizes;  // elements of each axis
  // The value of any other input:
  int64_t integer = 0;    // a kInt's value; a kBool's, 0 or 1
  double number = 0;      // a kFloat's value
  std::string_view text;  // a kString's value

  static CallInput Tensor(const TensorView& view);
  static CallInput Int(int64_t value);
  static CallInput Float(double value);
  static CallInput Bool(bool value);
  static CallInput String(std::string_view value);
  static CallInput None();
};

// "float32[8, 128]", "5", "True", "'text'", "None".
std::string ToString(const CallInput& input);

// The sizes that one axis may have, in elements, both ends included.
struct AxisRange {
  int64_t min = 0;
  int64_t max = 0;
  // Axes with the same symbol have the same size in every call. -1: the axis
  // has no symbol.
  int symbol = -1;
  // Whether a wider range was asked for, at whose other sizes the program does
  // something else.
  bool narrowed = false;

  bool dynamic() const { return min != max; }
  bool contains(int64_t size) const { return min <= size && size <= max; }
  static constexpr int64_t kUnbounded = std::numeric_limits<int64_t>::max();
};

// Where an input comes from. Guard filters decide by it.
enum class InputSource : uint8_t {
  kArgument,       // an argument of the call
  kModule,         // an attribute of one of the model's own modules
  kInbuiltModule,  // an attribute of a module whose class is PyTorch's
  kGlobal,         // anything else
};

// One input as an executable was compiled for it.
struct InputDescription {
  InputKind kind = InputKind::kTensor;
  InputSource source = InputSource::kArgument;
  std::string name;  // used in error and log texts; may be empty
  DataType dtype = DataType::kFloat32;
  MemoryLayout layout = MemoryLayout::kContiguous;
  std::string device = "cpu";
  std::vector<AxisRange> axes;  // a tensor's axes
  // The value of an input that is no tensor, as in CallInput.
  int64_t integer = 0;
  double number = 0;
  std::string text;

  // The description that fits `input` alone: every size is fixed.
  static InputDescription Of(const CallInput& input);
};

// "float32[2.., 128]" with a dynamic axis; constants as ToString(CallInput).
std::string ToString(const InputDescription& description);

}  // namespace aitune

#endif  // AITUNE_RUNTIME_GUARDS_INPUT_DESCRIPTION_H_
