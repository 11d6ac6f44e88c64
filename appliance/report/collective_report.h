// SPDX-License-Identifier: BSD-3-Clause
// What a job does again and again, in the report.
#pragma once

#include <string>

#include "analytics/collective/collective.h"

namespace rocescope {

namespace v1 {
class Rhythm;
}

void FillRhythm(const JobRhythm& rhythm, v1::Rhythm& out);
void AppendRhythm(const v1::Rhythm& rhythm, std::string& text);

}  // namespace rocescope
