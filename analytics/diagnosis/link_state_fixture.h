// SPDX-License-Identifier: BSD-3-Clause
// For tests of links that go down.
#pragma once

#include <string_view>

#include "analytics/diagnosis/diagnosis_fixture.h"

namespace rocescope {

class LinkStateTest : public DiagnosisTest {
 protected:
  void SaysDown(topology::PortIndex port, size_t first, size_t last) {
    for (size_t w = first; w <= last; ++w) Says(port, Metric::kLinkUp, w, 0);
  }
  void IsDown(std::string_view a, std::string_view b, size_t first, size_t last) {
    SaysDown(Port(a, b), first, last);
    SaysDown(Port(b, a), first, last);
  }
  Findings Found() { return DiagnosisTest::Found(DetectLinkState); }
};

}  // namespace rocescope
