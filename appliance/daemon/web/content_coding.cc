// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/web/content_coding.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cstddef>
#include <limits>

#include "base/hash.h"

namespace rocescope {
namespace {

constexpr size_t kLeastBytes = 1024;  // shorter bodies fit into one packet anyway
// All responses are compressed on the server's thread. Level 1 compresses JSON to a tenth, three
// times as fast as the default level.
constexpr int kLevel = 1;
constexpr int kGzipWindow = 16 + MAX_WBITS;  // 16 selects the gzip format

std::string_view Trim(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

bool EqualsIgnoringCase(std::string_view text, std::string_view lower) {
  return std::ranges::equal(
      text, lower, [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b; });
}

// Whether the parameters of a coding contain a weight of zero, such as ";q=0.0".
bool IsRefused(std::string_view parameters) {
  parameters = Trim(parameters);
  if (!parameters.starts_with("q=") && !parameters.starts_with("Q=")) return false;
  const std::string_view weight = parameters.substr(2);
  return !weight.empty() && weight.find_first_not_of("0.") == std::string_view::npos;
}

}  // namespace

bool AcceptsGzip(std::string_view accept_encoding) {
  bool any = false;  // "*", which stands for all codings that are not listed
  while (!accept_encoding.empty()) {
    const size_t comma = std::min(accept_encoding.find(','), accept_encoding.size());
    const std::string_view element = accept_encoding.substr(0, comma);
    accept_encoding.remove_prefix(std::min(comma + 1, accept_encoding.size()));
    const size_t semicolon = std::min(element.find(';'), element.size());
    const std::string_view coding = Trim(element.substr(0, semicolon));
    const bool is_accepted =
        semicolon == element.size() || !IsRefused(element.substr(semicolon + 1));
    if (EqualsIgnoringCase(coding, "gzip") || EqualsIgnoringCase(coding, "x-gzip")) {
      return is_accepted;
    }
    if (coding == "*") any = is_accepted;
  }
  return any;
}

std::string Gzip(std::string_view text) {
  z_stream stream{};
  if (text.size() > std::numeric_limits<uInt>::max() ||
      deflateInit2(&stream, kLevel, Z_DEFLATED, kGzipWindow, MAX_MEM_LEVEL, Z_DEFAULT_STRATEGY) !=
          Z_OK) {
    return {};
  }
  std::string out(deflateBound(&stream, text.size()), '\0');
  // zlib does not write to its input.
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int ended = deflate(&stream, Z_FINISH);
  out.resize(ended == Z_STREAM_END ? stream.total_out : 0);
  deflateEnd(&stream);
  return out;
}

void ApplyContentCoding(const HttpRequest& request, HttpResponse& response) {
  if (response.status != 200 || response.stream || response.body.empty()) return;
  // Weak, because the tag is the same for the compressed and the plain body. 64 bits suffice:
  // another content of the same path almost certainly has another hash.
  const std::string tag = fmt::format("W/\"{:016x}\"", HashText(response.body));
  response.headers.emplace_back("ETag", tag);
  response.headers.emplace_back("Vary", "Accept-Encoding");
  if (request.if_none_match.find(std::string_view(tag).substr(2)) != std::string::npos) {
    response.status = 304;
    response.body.clear();
    return;
  }
  if (response.body.size() < kLeastBytes || !AcceptsGzip(request.accept_encoding)) return;
  if (std::string packed = Gzip(response.body); !packed.empty()) {
    response.body = std::move(packed);
    response.headers.emplace_back("Content-Encoding", "gzip");
  }
}

}  // namespace rocescope
