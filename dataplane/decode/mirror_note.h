// SPDX-License-Identifier: BSD-3-Clause
// Conversion of ERSPAN headers to MirrorInfo, shared by all parsers of frames. The functions write
// every field except the addresses, which the caller takes from the outer packet.
#pragma once

#include "dataplane/decode/frame.h"
#include "dataplane/wire/mirror.h"

namespace rocescope {

// Type I has no header after the GRE header.
inline void NoteErspan1(MirrorInfo& mirror) {
  mirror.kind = MirrorKind::kErspan1;
  mirror.direction = MirrorDirection::kUnknown;
  mirror.truncated = false;
  mirror.has_sequence = false;
  mirror.has_port_index = false;
  mirror.has_timestamp = false;
  mirror.has_seconds = false;
  mirror.has_upper_timestamp = false;
  mirror.granularity = wire::ErspanGranularity::k100Microseconds;
  mirror.session = 0;
  mirror.port_index = 0;
  mirror.sequence = 0;
  mirror.timestamp = 0;
  mirror.timestamp_upper = 0;
}

inline void NoteErspan2(const wire::GreHeader& gre, const wire::Erspan2Header& header,
                        MirrorInfo& mirror) {
  NoteErspan1(mirror);
  mirror.kind = MirrorKind::kErspan2;
  mirror.truncated = header.truncated;
  mirror.has_sequence = true;
  mirror.has_port_index = true;
  mirror.session = header.session;
  mirror.port_index = header.index;
  mirror.sequence = gre.sequence;
}

// `platform` is used only if the header announces a platform-specific subheader.
inline void NoteErspan3(const wire::GreHeader& gre, const wire::Erspan3Header& header,
                        const wire::ErspanPlatformSubheader& platform, MirrorInfo& mirror) {
  NoteErspan1(mirror);
  mirror.kind = MirrorKind::kErspan3;
  mirror.direction = header.egress ? MirrorDirection::kEgress : MirrorDirection::kIngress;
  mirror.truncated = header.truncated;
  mirror.has_sequence = gre.has_sequence;
  mirror.has_timestamp = true;
  mirror.granularity = header.granularity;
  mirror.session = header.session;
  mirror.sequence = gre.sequence;
  mirror.timestamp = header.timestamp;
  if (header.has_platform_subheader) {
    mirror.has_port_index = platform.HasPort();
    mirror.port_index = platform.HasPort() ? platform.Port() : 0;
    mirror.has_seconds = platform.HasSeconds();
    mirror.has_upper_timestamp = platform.HasUpperTimestamp();
    mirror.timestamp_upper = platform.word;
  }
}

}  // namespace rocescope
