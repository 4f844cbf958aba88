// What LibTorch reads in a TorchScript file without looking. Internal to
// torchscript.
#ifndef AITUNE_FRONTEND_TORCHSCRIPT_RECORD_CHECK_H_
#define AITUNE_FRONTEND_TORCHSCRIPT_RECORD_CHECK_H_

#include <caffe2/serialize/read_adapter_interface.h>

#include <memory>
#include <string>

#include "absl/status/status.h"

namespace aitune::frontend {

struct RecordCheck {
  // Whether the places in Python that the file has for its operators, records
  // NAME.debug_pkl beside the code, are as LibTorch writes them. It reads them
  // while it makes the text of an error, where what is wrong with them ends the
  // process, and indexes their texts unchecked.
  bool debug_files_are_sound = false;
  // The error of CheckCode for the program, with the record; else that of a
  // weight that is not where the file says.
  absl::Status content;
};

// Of the file at `path`. One that is no archive has no sound debug files.
RecordCheck CheckRecords(const std::string& path);
// The same for a file in memory, not null.
RecordCheck CheckRecords(
    std::shared_ptr<caffe2::serialize::ReadAdapterInterface> file);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TORCHSCRIPT_RECORD_CHECK_H_
