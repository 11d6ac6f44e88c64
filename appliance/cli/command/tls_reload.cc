// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/command/tls_reload.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "appliance/common/access/revocations.h"
#include "appliance/common/report/utc_text.h"
#include "dataplane/source/wall_clock.h"

namespace rocescope {
namespace {

constexpr auto kPace = std::chrono::seconds(2);

// Text that differs if one of the files was changed or replaced.
std::string IdentityOf(const TlsConfig& files) {
  std::string identity;
  for (const std::string* const path :
       {&files.certificate, &files.key, &files.client_ca, &files.crl}) {
    struct stat found = {};
    if (path->empty() || stat(path->c_str(), &found) != 0) {
      identity += "-;";
      continue;
    }
    identity += fmt::format("{}:{}:{}.{}:{};", found.st_dev, found.st_ino, found.st_mtim.tv_sec,
                            found.st_mtim.tv_nsec, found.st_size);
  }
  return identity;
}

// A certificate that clients reject must not replace a valid one, for example if an old backup is
// restored.
Status CheckNotWorse(const TlsTexts& texts, const TlsTexts& before) {
  const Timestamp now = WallClock();
  const auto is_valid = [&](const Validity& one) { return one.begin <= now && now < one.end; };
  const Result<Validity> validity = ValidityOf(texts.certificate, texts.files.certificate);
  if (!validity) return tl::unexpected(validity.error());
  const Result<Validity> present = ValidityOf(before.certificate, before.files.certificate);
  if (is_valid(*validity) || !present || !is_valid(*present)) return {};
  return MakeError(
      ErrorCode::kInvalidArgument,
      validity->end <= now
          ? fmt::format("{}: the certificate expired at {}", texts.files.certificate,
                        UtcDayAndTime(ToNanoseconds(validity->end)))
          : fmt::format("{}: the certificate is not valid before {}", texts.files.certificate,
                        UtcDayAndTime(ToNanoseconds(validity->begin))));
}

}  // namespace

TlsReload::TlsReload(std::vector<Server> servers, Notify notify) : notify_(std::move(notify)) {
  for (Server& server : servers) {
    if (!server.texts.IsThere()) continue;
    Watched& watched = servers_.emplace_back();
    watched.state.server = server.key;
    watched.server = std::move(server);
    watched.identity = watched.seen = IdentityOf(watched.server.texts.files);
    Describe(watched);
  }
}

void TlsReload::Describe(Watched& watched) const {
  const TlsTexts& texts = watched.server.texts;
  const CertificateTimes own =
      TimesOf(texts.certificate, texts.files.certificate).value_or(CertificateTimes());
  const CertificateTimes peers =
      TimesOf(texts.peer_ca, texts.files.client_ca).value_or(CertificateTimes());
  watched.state.expires_at = std::min(own.expires, peers.expires);
  watched.state.renew_by = std::min(own.renew_by, peers.renew_by);
  watched.state.crl_due.reset();
  if (texts.crl.empty()) return;
  const auto lists = Revocations::Parse(texts.crl, texts.peer_ca, texts.files.crl);
  if (lists) watched.state.crl_due = (*lists)->next_update();
}

void TlsReload::Read(Watched& watched) {
  Result<TlsTexts> texts = ReadTls(watched.server.texts.files, watched.server.key);
  const Status usable =
      texts ? CheckNotWorse(*texts, watched.server.texts) : Status(tl::unexpected(texts.error()));
  if (texts && !usable) {  // the other files, such as revocation lists, take effect anyway
    texts->certificate = watched.server.texts.certificate;
    texts->key = watched.server.texts.key;
  }
  const bool is_same = texts && texts->HasSameContent(watched.server.texts);
  // A server with revocation lists closes all connections when certificates are set.
  if (is_same && usable && watched.state.problem.empty()) {
    watched.identity = watched.seen;
    return;
  }
  const bool is_set = texts && (usable || !is_same);
  Status done = is_set ? watched.server.set(*texts) : Status();
  if (is_set && done) {
    watched.server.texts = *std::move(texts);
    Describe(watched);
  }
  if (!usable) done = usable;
  if (!done) {
    if (std::exchange(watched.state.problem, done.error().message) != done.error().message) {
      notify_(Severity::kError,
              fmt::format("cannot load the certificates of `{}`; the previous ones stay in effect: "
                          "{}",
                          watched.server.key, done.error().message));
    }
    return;
  }
  watched.identity = watched.seen;
  watched.state.problem.clear();
  notify_(Severity::kInfo, fmt::format("the certificates of `{}` were loaded", watched.server.key));
}

bool TlsReload::Look(Clock::time_point now, bool at_once) {
  if (now < due_ && !at_once) return false;
  due_ = now + kPace;
  const std::vector<CertificateState> before = States();
  for (Watched& watched : servers_) {
    const std::string before_this =
        std::exchange(watched.seen, IdentityOf(watched.server.texts.files));
    const bool is_stable = watched.seen == before_this;
    const bool is_pending = watched.seen != watched.identity || !watched.state.problem.empty();
    if (at_once || (is_stable && is_pending)) Read(watched);
  }
  return States() != before;
}

std::vector<CertificateState> TlsReload::States() const {
  std::vector<CertificateState> states;
  for (const Watched& watched : servers_) states.push_back(watched.state);
  return states;
}

}  // namespace rocescope
