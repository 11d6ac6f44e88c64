// SPDX-License-Identifier: BSD-3-Clause
// The reference of relative times: now or the selected minute for a running appliance, none for a
// recording.
import type { SnapshotMetadata, Health } from "../api/messages";
import { toNs, type Reference } from "../format/moments";
import { useMinute } from "../past/minute_context";
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

// The present, also if a past minute is selected.
export function useNow(): bigint {
  const { health, nowNs } = useApplianceNow();
  return health?.snapshot ? eventNow(health.snapshot, nowNs) : nowNs;
}

// For times in telemetry.
export function useReference(): Reference {
  const { store } = useShared();
  const minute = useMinute();
  const nowNs = useNow();
  if (!store.source.live) return {};
  return minute === undefined ? { nowNs } : { nowNs: minute, isPast: true };
}

// For times in the appliance's own state.
export function useApplianceReference(): Reference {
  const { store } = useShared();
  const { nowNs } = useApplianceNow();
  return store.source.live ? { nowNs } : {};
}
