#include "runtime/bundle/message_bytes.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <cstdint>

#include "absl/strings/str_cat.h"

namespace aitune {

absl::StatusOr<std::string> MessageBytes(
    const google::protobuf::MessageLite& message) {
  std::string bytes;
  bool is_written = message.ByteSizeLong() <= INT32_MAX;
  if (is_written) {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    is_written = message.SerializeToCodedStream(&coded);
  }
  if (!is_written)
    return absl::UnimplementedError(absl::StrCat(
        message.GetTypeName(), ": more than 2 GiB can't be stored"));
  return bytes;
}

}  // namespace aitune
