// Errors of the C API.
#include <exception>
#include <new>
#include <string>

#include "frontend/api/c_handles.h"
#include "frontend/json/json_writer.h"

namespace {

static_assert(AIT_INVALID_ARGUMENT ==
              static_cast<int>(absl::StatusCode::kInvalidArgument));
static_assert(AIT_DATA_LOSS == static_cast<int>(absl::StatusCode::kDataLoss));

// For when there is no memory for an error.
ait_error* OutOfMemory() {
  static ait_error* const error =
      new ait_error{AIT_RESOURCE_EXHAUSTED, "out of memory"};
  return error;
}
// Made when the library is loaded, while there is memory.
[[maybe_unused]] ait_error* const made_in_time = OutOfMemory();

ait_error* Error(const absl::Status& status) {
  if (status.ok()) return nullptr;
  return new ait_error{static_cast<ait_code>(status.code()),
                       aitune::frontend::ToUtf8(std::string(status.message()))};
}

ait_error* Caught(absl::FunctionRef<absl::Status()> body) {
  try {
    return Error(body());
  } catch (const std::bad_alloc&) {
    return OutOfMemory();
  } catch (const std::exception& exception) {
    return Error(absl::InternalError(exception.what()));
  } catch (...) {
    return Error(absl::InternalError(
        "an object that is not a std::exception was thrown"));
  }
}

}  // namespace

ait_error* ait::Guarded(absl::FunctionRef<absl::Status()> body) noexcept {
  try {
    return Caught(body);
  } catch (...) {  // No memory for the error.
    return OutOfMemory();
  }
}

absl::Status ait::Need(const void* pointer, const char* what) {
  if (pointer != nullptr) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(what, " is NULL"));
}

ait_code ait_error_code(const ait_error* error) {
  return error == nullptr ? AIT_OK : error->code;
}

const char* ait_error_message(const ait_error* error) {
  return error == nullptr ? "" : error->message.c_str();
}

void ait_error_free(ait_error* error) {
  if (error != OutOfMemory()) delete error;
}
