// A build report in its stored form.
#ifndef AITUNE_FRONTEND_SESSION_REPORT_PROTO_H_
#define AITUNE_FRONTEND_SESSION_REPORT_PROTO_H_

#include "frontend/session/build_report.h"
#include "frontend/session/compiled_model.pb.h"

namespace aitune::frontend {

BuildReportProto ToProto(const BuildReport& report);

// The inverse.
BuildReport FromProto(const BuildReportProto& proto);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_SESSION_REPORT_PROTO_H_
