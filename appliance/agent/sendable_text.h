// SPDX-License-Identifier: BSD-3-Clause
// Text from the host (names of files, interfaces, programs) as a message may carry it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace google::protobuf {
class Message;
}

namespace rocescope {

inline constexpr size_t kLongestText = 1024;  // octets

// At most so many octets, and UTF-8: others' octets become '?', or the whole message would be
// refused wherever it came, again and again.
std::string SendableText(std::string_view text, size_t most = kLongestText);

// All `string` fields of a message, and of those in it.
void MakeSendable(google::protobuf::Message& message);

}  // namespace rocescope
