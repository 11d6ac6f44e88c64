// SPDX-License-Identifier: BSD-3-Clause
// Makes text from the host (names of files, interfaces, programs) valid for protobuf messages.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace google::protobuf {
class Message;
}

namespace rocescope {

inline constexpr size_t kLongestText = 1024;  // bytes

// Truncates to `most` bytes and replaces invalid UTF-8 with '?'. Protobuf would reject the whole
// message otherwise.
std::string SendableText(std::string_view text, size_t most = kLongestText);

// Applies SendableText to all `string` fields of a message, recursively.
void MakeSendable(google::protobuf::Message& message);

}  // namespace rocescope
