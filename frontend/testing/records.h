// Files of LibTorch that something is wrong with.
#ifndef AITUNE_FRONTEND_TESTING_RECORDS_H_
#define AITUNE_FRONTEND_TESTING_RECORDS_H_

#include <caffe2/serialize/inline_container.h>

#include <filesystem>
#include <functional>
#include <string>

namespace aitune::frontend {

// Replaces each record of the archive at `path` by `change(name, record)`.
inline void ChangeRecords(
    const std::string& path,
    const std::function<std::string(const std::string&, std::string)>& change) {
  const std::string changed = path + ".changed";
  {
    caffe2::serialize::PyTorchStreamReader reader(path);
    caffe2::serialize::PyTorchStreamWriter writer(changed);
    for (const std::string& name : reader.getAllRecords()) {
      if (name == ".data/serialization_id" || name == "version") continue;
      const auto [data, size] = reader.getRecord(name);
      const std::string record =
          change(name, std::string(static_cast<const char*>(data.get()), size));
      writer.writeRecord(name, record.data(), record.size());
    }
    writer.writeEndOfFile();
  }
  std::filesystem::rename(changed, path);
}

// Replaces the first `from` in the archive's data.pkl by `to`, which is as
// long. Returns whether there is one.
inline bool ReplaceInPickle(const std::string& path, const std::string& from,
                            const std::string& to) {
  bool found = false;
  ChangeRecords(path, [&](const std::string& name, std::string record) {
    if (name != "data.pkl") return record;
    const size_t place = record.find(from);
    found = place != std::string::npos;
    return found ? record.replace(place, from.size(), to) : record;
  });
  return found;
}

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TESTING_RECORDS_H_
