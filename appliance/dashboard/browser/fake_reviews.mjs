// SPDX-License-Identifier: BSD-3-Clause
// Acknowledgements and mutes of the fake appliance, with the rules and the messages of the real one
// (appliance/daemon/service/finding_calls.cc).

const kPauseMs = 5 * 60e3; // pauses of at most this length do not end a finding
const kLongestMuteS = 30 * 86400;
const kLongestComment = 1000; // bytes
const time = (ms) => new Date(ms).toISOString();

const refused = (code, status, reason, message) => ({ code, body: { error: { code, status, message, details: [{ "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason }] } } });
const malformed = (field, message) => refused(400, "INVALID_ARGUMENT", "BAD_REQUEST", `${field}: ${message}`);
const unknown = (message) => refused(404, "NOT_FOUND", "UNKNOWN_FINDING", message);

// `state.user`: the name of the client; `state.isOperator`: whether it may change something;
// `state.storageProblem`: why changes are not on disk; empty: they are.
export function fakeReviews(state) {
  let acknowledgements = [];
  let mutes = [];

  const startOf = (finding) => Date.parse(finding.start_time);
  const endOf = (finding) => (finding.end_time ? Date.parse(finding.end_time) : Infinity);
  const wasActive = (finding, ms) => ms >= startOf(finding) - kPauseMs && ms <= endOf(finding) + kPauseMs;
  const isAt = (one, { kind, place, direction = "" }) => one.kind === kind && one.place === place && (!direction || one.direction === direction);
  const isSame = (one, { kind, place, direction = "" }) => one.kind === kind && one.place === place && one.direction === direction;
  const activeMutes = () => mutes.filter(({ expire_time: end }) => Date.parse(end) > Date.now());
  const stored = () => ({ durable: state.storageProblem === "", storage_problem: state.storageProblem });

  function checked({ kind, place, direction = "", comment = "", start_time: start }) {
    if (!kind) return malformed("kind", `expected a fault kind, found "${kind ?? ""}"`);
    if (!place) return malformed("place, direction", "expected the place of a finding, and at most 1024 bytes in each");
    if (typeof direction !== "string") return malformed("direction", "expected a string");
    if (Buffer.byteLength(comment) > kLongestComment) return malformed("comment", `expected at most ${kLongestComment} bytes, found ${Buffer.byteLength(comment)}`);
    if (start !== undefined && Number.isNaN(Date.parse(start))) return malformed("start_time", "expected a time such as 2026-01-31T12:00:00Z");
    return undefined;
  }

  const methods = {
    acknowledge(request, findings) {
      const { kind, place, start_time: start, comment = "" } = request;
      const found = findings.filter((one) => isAt(one, request) && (start === undefined || wasActive(one, Date.parse(start))));
      const directions = [...new Set(found.map((one) => one.direction))].sort();
      if (found.length === 0) {
        return unknown(`no finding "${kind}" at "${place}"${start === undefined ? "" : " at this time"}: expected kind, place, direction and start_time of a finding in the list of findings`);
      }
      if (directions.length > 1 && directions[0] !== "") return malformed("direction", `several directions have a finding; expected one of ${directions.join(", ")}`);
      const distance = (one) => (start === undefined ? -startOf(one) : Math.abs(startOf(one) - Date.parse(start)));
      const [finding] = found.filter((one) => one.direction === directions[0]).sort((a, b) => distance(a) - distance(b));
      const acknowledgement = {
        kind, place, direction: finding.direction, start_time: finding.start_time, acknowledge_time: time(Date.now()),
        user: state.user, comment, ongoing: finding.end_time === undefined,
      };
      acknowledgements = [acknowledgement, ...acknowledgements.filter((one) => !(isSame(one, finding) && wasActive(finding, Date.parse(one.start_time))))];
      return { body: { acknowledgement, ...stored() } };
    },
    unacknowledge(request) {
      const { kind, place, start_time: start } = request;
      const isMeant = (one) => isAt(one, request) && (start === undefined || Math.abs(Date.parse(one.start_time) - Date.parse(start)) <= kPauseMs);
      const removed = acknowledgements.filter(isMeant);
      if (removed.length === 0) return unknown(`no acknowledgement of "${kind}" at "${place}": see the list of acknowledgements`);
      acknowledgements = acknowledgements.filter((one) => !isMeant(one));
      return { body: { acknowledgements: removed, ...stored() } };
    },
    mute(request, findings) {
      const { kind, place, direction = "", duration = "86400s", comment = "" } = request;
      const seconds = /^\d+(\.\d+)?s$/.test(duration) ? Number(duration.slice(0, -1)) : NaN;
      if (!(seconds > 0 && seconds <= kLongestMuteS)) {
        return malformed("duration", `expected more than 0 s and at most ${kLongestMuteS} s (30 days): mutes always expire`);
      }
      const now = Date.now();
      const mute = { kind, place, direction, mute_time: time(now), expire_time: time(now + 1000 * seconds), user: state.user, comment, expired: false };
      mutes = [mute, ...mutes.filter((one) => !isSame(one, mute))];
      return { body: { mute, finding_count: findings.filter((one) => isAt(one, mute)).length, ...stored() } };
    },
    unmute(request) {
      const { kind, place } = request;
      const mute = activeMutes().find((one) => isSame(one, request));
      if (!mute) return unknown(`no mute of "${kind}" at "${place}" with this direction: see the list of mutes`);
      mutes = mutes.filter((one) => one !== mute);
      return { body: { mute, ...stored() } };
    },
  };

  return {
    // The finding with its acknowledgement and its mute.
    decorated(finding) {
      const acknowledgement = acknowledgements.find((one) => isSame(one, finding) && wasActive(finding, Date.parse(one.start_time)));
      const [mute] = activeMutes().filter((one) => isSame(one, finding) || isSame(one, { ...finding, direction: "" }))
        .sort((a, b) => (a.expire_time < b.expire_time ? 1 : -1));
      return { ...finding, ...(acknowledgement && { acknowledgement }), ...(mute && { mute }) };
    },
    // Responds to a request of `/api/v1/findings:METHOD`. `findings`: those of the current snapshot. Undefined
    // if the path is another one.
    answer({ path, verb, contentType = "", content }, findings) {
      const name = /^\/api\/v1\/findings:(\w+)$/.exec(path)?.[1] ?? "";
      if (!Object.hasOwn(methods, name)) return undefined;
      if (verb !== "POST") return refused(405, "UNIMPLEMENTED", "WRONG_METHOD", `method ${verb} is not supported for ${path}; use POST`);
      if (!state.isOperator) {
        return refused(403, "PERMISSION_DENIED", "NOT_ALLOWED", `"${state.user}" may not call ${path}: roles are assigned by the key \`grpc\` in the configuration of the appliance`);
      }
      if (!/^application\/json\b/.test(contentType)) return refused(415, "INVALID_ARGUMENT", "BAD_REQUEST", "expected the header Content-Type: application/json");
      let request;
      try {
        request = JSON.parse(content);
      } catch {
        return malformed("body", "expected a JSON object");
      }
      return checked(request) ?? methods[name](request, findings);
    },
    clear() {
      acknowledgements = [];
      mutes = [];
    },
  };
}
