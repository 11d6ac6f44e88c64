// SPDX-License-Identifier: BSD-3-Clause
// The reference of relative times: the start of a recording, or now for a running appliance.
import type { SnapshotMetadata, Health, ListFindingsResponse } from "../api/messages";
import type { Reference } from "../format/moments";
import { useClock, useResource, useShared } from "../store/use_store";

// The appliance's clock minus the browser's clock.
export function clockDifferenceNs(health: Health, receivedMs: number): bigint {
  return BigInt(health.now_ns) - BigInt(Math.round(receivedMs)) * 1_000_000n;
}

// The current event time. It differs from the appliance's clock if a recording is replayed into it.
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

// For times in telemetry.
export function useReference(): Reference {
  const { store } = useShared();
  const findings = useResource<ListFindingsResponse>("/api/v1/findings");
  const { health, nowNs } = useBoxNow();
  if (!store.source.live) return { zeroNs: findings.value?.zero_ns ?? "0" };
  return { zeroNs: "0", nowNs: health?.age ? eventNow(health.age, nowNs) : nowNs };
}

// For times in the appliance's own state.
export function useBoxReference(): Reference {
  const { store } = useShared();
  const { nowNs } = useBoxNow();
  return store.source.live ? { zeroNs: "0", nowNs } : { zeroNs: "0" };
}
