// A build report in its stored form.
#ifndef AITUNE_FRONTEND_COMPILED_MODEL_REPORT_PROTO_H_
#define AITUNE_FRONTEND_COMPILED_MODEL_REPORT_PROTO_H_

#include "frontend/compiled_model/build_report.h"
#include "frontend/compiled_model/compiled_model.pb.h"

namespace aitune::frontend {

BuildReportProto ToProto(const BuildReport& report);

// The inverse.
BuildReport FromProto(const BuildReportProto& proto);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_COMPILED_MODEL_REPORT_PROTO_H_
