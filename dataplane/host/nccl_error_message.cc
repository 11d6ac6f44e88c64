// SPDX-License-Identifier: BSD-3-Clause
// An error is kept even if its line is truncated, because its occurrence matters more than its
// details.
#include "base/utf8.h"
#include "dataplane/host/nccl_message.h"

namespace rocescope {
namespace {

constexpr size_t kLongestText = 512;

bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// Returns the word after `mark`, if present.
std::optional<std::string_view> WordAfter(std::string_view text, std::string_view mark) {
  const size_t at = text.find(mark);
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view rest = text.substr(at + mark.size());
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  return rest.substr(0, rest.find_first_of(" ,"));
}

std::optional<IpAddress> AddressAfter(std::string_view text, std::string_view mark) {
  const auto word = WordAfter(text, mark);
  if (!word) return std::nullopt;
  const auto address = ParseIpAddress(*word);
  if (!address) return std::nullopt;
  return *address;
}

std::optional<Qpn> QpnAfter(std::string_view text, std::string_view mark) {
  const auto word = WordAfter(text, mark);
  if (!word) return std::nullopt;
  LineScanner scanner(*word);
  const auto qpn = static_cast<uint32_t>(scanner.Integer(0, k24BitMask));
  if (!scanner.ok()) return std::nullopt;
  return Qpn{qpn};
}

// `Got completion from peer 10.0.0.2<4321> with error 12, opcode 0, len 0, vendor err 129 (Send)`,
// `... with status=12 opcode=0 len=0 vendor err 129 (Send) localGid .. remoteGids.. hca mlx5_0`,
// `... with status=IBV_WC_RETRY_EXC_ERR(12) opcode=..(0) vendor_err=129 ...`.
void ReadCompletion(LineScanner& scanner, NcclError& error) {
  error.peer = scanner.Until(" ");
  if (!scanner.Accept(" with error ")) {
    scanner.Literal(" with status=");
    if (!scanner.rest().empty() && scanner.rest()[0] > '9') scanner.SkipPast("(");
  }
  const auto status = static_cast<int>(scanner.Integer(0, 255));
  if (scanner.ok()) error.status = status;
  scanner.SkipPast("vendor");
  if (!scanner.Accept("_err=")) scanner.Literal(" err ");
  const auto vendor_error = static_cast<uint32_t>(scanner.Integer(0, UINT32_MAX));
  if (scanner.ok()) error.vendor_error = vendor_error;
}

}  // namespace

MessageOutcome ReadErrorMessage(const NcclLine& frame, size_t line, NcclProcessReader& reader) {
  LineScanner scanner(frame.message);
  if (!scanner.Accept("NET/IB : ") && !scanner.Accept("NET/IB: ")) return {};
  NcclError error{.line = line, .text = std::string(Utf8Front(frame.message, kLongestText))};
  const std::string_view text = error.text;
  if (Contains(text, "Got completion from peer ")) {
    scanner.SkipPast("Got completion from peer ");
    ReadCompletion(scanner, error);
    error.local_address = AddressAfter(text, " localGid");
    error.remote_address = AddressAfter(text, " remoteGids");
    if (!error.remote_address) error.remote_address = AddressAfter(text, " remoteGid");
    if (const auto device = WordAfter(text, " hca ")) error.device = *device;
  } else if (Contains(text, "Got CQE with error")) {
    error.kind = NcclErrorKind::kQueuePair;
    error.local = QpnAfter(text, "qp_num=");
    scanner.Require(error.local.has_value(), "a queue pair number after \"qp_num=\"");
  } else if (Contains(text, " async ") && Contains(text, " event")) {
    error.kind = NcclErrorKind::kAsynchronous;
    error.device = scanner.Until(" ");
    error.local = QpnAfter(text, "qpn=");
    if (!error.local) error.local = QpnAfter(text, "qp_num=");
  } else {
    return {};
  }
  reader.facts.errors.push_back(std::move(error));
  return scanner.ok() ? Read() : Malformed(scanner);
}

}  // namespace rocescope
