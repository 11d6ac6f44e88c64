// SPDX-License-Identifier: BSD-3-Clause
// The reference of relative times: now for a running appliance, none for a recording.
import type { SnapshotMetadata, Health } from "../api/messages";
import { toNs, type Reference } from "../format/moments";
import { useClock, useResource, useShared } from "../store/use_store";

// The appliance's clock minus the browser's clock.
export function clockDifferenceNs(health: Health, receivedMs: number): bigint {
  const browserNs = BigInt(Math.round(receivedMs)) * 1_000_000n;
  return (toNs(health.current_time) ?? browserNs) - browserNs;
}

// The current event time. It differs from the appliance's clock if a recording is replayed into it.
export function eventNow(snapshot: SnapshotMetadata, applianceNowNs: bigint): bigint {
  const [data, published] = [toNs(snapshot.data_time), toNs(snapshot.publish_time)];
  if (data === undefined || published === undefined) return applianceNowNs;
  return data + applianceNowNs - published;
}

function useApplianceNow(): { health?: Health; nowNs: bigint } {
  const { store } = useShared();
  const health = useResource<Health>(store.source.live ? "/api/v1/health" : "");
  const now = useClock(1000);
  const difference = health.value ? clockDifferenceNs(health.value, health.receivedMs) : 0n;
  return { health: health.value, nowNs: BigInt(now) * 1_000_000n + difference };
}

// For times in telemetry.
export function useReference(): Reference {
  const { store } = useShared();
  const { health, nowNs } = useApplianceNow();
  if (!store.source.live) return {};
  return { nowNs: health?.snapshot ? eventNow(health.snapshot, nowNs) : nowNs };
}

// For times in the appliance's own state.
export function useApplianceReference(): Reference {
  const { store } = useShared();
  const { nowNs } = useApplianceNow();
  return store.source.live ? { nowNs } : {};
}
