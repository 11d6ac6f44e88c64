// SPDX-License-Identifier: BSD-3-Clause
#include "topology/convert/convert.h"

namespace rocescope::topology {

Result<Conversion> Convert(Format format, std::string_view text, std::string_view file,
                           const ConvertOptions& options) {
  switch (format) {
    case Format::kSlurm:
      return ConvertSlurm(text, file, options);
    case Format::kContainerlab:
      return ConvertContainerlab(text, file, options);
    case Format::kPtm:
      return ConvertPtm(text, file, options);
  }
  return MakeError(ErrorCode::kInternal, "unknown format");
}

std::optional<Format> FormatOfName(std::string_view file) {
  if (file.ends_with(".conf")) return Format::kSlurm;
  if (file.ends_with(".clab.yml") || file.ends_with(".clab.yaml")) return Format::kContainerlab;
  if (file.ends_with(".dot") || file.ends_with(".gv")) return Format::kPtm;
  return std::nullopt;
}

}  // namespace rocescope::topology
