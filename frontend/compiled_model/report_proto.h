// Converts a build report to and from its stored form, in artifacts.
#ifndef AITUNE_FRONTEND_COMPILED_MODEL_REPORT_PROTO_H_
#define AITUNE_FRONTEND_COMPILED_MODEL_REPORT_PROTO_H_

#include "frontend/compiled_model/build_report.h"
#include "frontend/compiled_model/compiled_model.pb.h"

namespace aitune::frontend {

BuildReportProto ToProto(const BuildReport& report);

// The report that `proto` stores.
BuildReport FromProto(const BuildReportProto& proto);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_COMPILED_MODEL_REPORT_PROTO_H_
