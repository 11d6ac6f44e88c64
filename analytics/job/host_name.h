// SPDX-License-Identifier: BSD-3-Clause
// Comparison of host names. NCCL truncates host names at the first dot; Slurm and the resolver may
// not.
#pragma once

#include <string>
#include <string_view>

namespace rocescope {

// Returns "gpu-7" for "gpu-7.rack2.example".
std::string_view ShortHostName(std::string_view host);

// Returns a key that is equal for all names that SameHost considers equal.
std::string HostKey(std::string_view host);

// Returns the name in lower case and without a dot at the end.
std::string NormalHostName(std::string_view host);

// Whether two names can denote the same host, because one of them may be truncated at a dot:
// "gpu-7" and "gpu-7.rack2.example" can, "gpu-7.rack1.example" and "gpu-7.rack2.example" cannot.
// Case is ignored (RFC 4343). The relation is not transitive: "gpu-7" matches both of the latter.
bool SameHost(std::string_view a, std::string_view b);

}  // namespace rocescope
