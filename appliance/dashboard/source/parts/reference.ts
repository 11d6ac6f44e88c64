// SPDX-License-Identifier: BSD-3-Clause
// What times are said in relation to: in a file, its beginning; of a box, now.
import type { SnapshotMetadata, Health, ListFindingsResponse } from "../api/messages";
import type { Reference } from "../format/moments";
import { useClock, useResource, useShared } from "../store/use_store";

// The box's clock less this browser's.
export function clockDifferenceNs(health: Health, receivedMs: number): bigint {
  return BigInt(health.now_ns) - BigInt(Math.round(receivedMs)) * 1_000_000n;
}

// What time it is where the telemetry comes from: not the box's, if that is fed with a recording.
export function eventNow(age: SnapshotMetadata, boxNowNs: bigint): bigint {
  return BigInt(age.data_time_ns) + boxNowNs - BigInt(age.published_time_ns);
}

function useBoxNow(): { health?: Health; nowNs: bigint } {
  const { store } = useShared();
  const health = useResource<Health>(store.source.live ? "/api/v1/health" : "");
  const now = useClock(1000);
  const difference = health.value ? clockDifferenceNs(health.value, health.receivedMs) : 0n;
  return { health: health.value, nowNs: BigInt(now) * 1_000_000n + difference };
}

// For what telemetry tells.
export function useReference(): Reference {
  const { store } = useShared();
  const findings = useResource<ListFindingsResponse>("/api/v1/findings");
  const { health, nowNs } = useBoxNow();
  if (!store.source.live) return { zeroNs: findings.value?.zero_ns ?? "0" };
  return { zeroNs: "0", nowNs: health?.age ? eventNow(health.age, nowNs) : nowNs };
}

// For what the box tells of itself.
export function useBoxReference(): Reference {
  const { store } = useShared();
  const { nowNs } = useBoxNow();
  return store.source.live ? { zeroNs: "0", nowNs } : { zeroNs: "0" };
}
