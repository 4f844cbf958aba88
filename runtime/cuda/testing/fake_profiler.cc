// A library of NVTX that notes what it is asked for: "name" where a range
// begins, ")" where it ends.
#include <string>

namespace {

std::string& Events() {
  static std::string events;
  return events;
}

}  // namespace

extern "C" {

int nvtxRangePushA(const char* name) {
  Events() += name;
  return 0;
}

int nvtxRangePop() {
  Events() += ")";
  return 0;
}

// What was noted since the last call of this, until the next one.
const char* TakeEvents() {
  static std::string taken;
  taken.clear();
  taken.swap(Events());
  return taken.c_str();
}

}  // extern "C"
