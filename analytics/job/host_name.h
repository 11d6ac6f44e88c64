// SPDX-License-Identifier: BSD-3-Clause
// NCCL cuts host names at the first dot, Slurm and the resolver may not.
#pragma once

#include <string>
#include <string_view>

namespace rocescope {

// "gpu-7" of "gpu-7.rack2.example".
std::string_view ShortHostName(std::string_view host);

// The same for all names that SameHost takes for one host, and for few others.
std::string HostKey(std::string_view host);

// The same host, one of the names being possibly cut at a dot: "gpu-7" and "gpu-7.rack2.example"
// are, "gpu-7.rack1.example" and "gpu-7.rack2.example" are not. Case does not matter (RFC 4343).
// Not transitive: "gpu-7" is the same as both of the latter.
bool SameHost(std::string_view a, std::string_view b);

}  // namespace rocescope
