import { FAILURE_TYPES, Failure, type FailureType } from '../failure.ts';
import type { RoutingObserver, SharedCooldown } from '../routing/observer.ts';
import type { Routing } from '../routing/routing.ts';
import type { Store } from '../store/store.ts';
import type { StoreEvent } from '../store/store-event.ts';

type Notice = Extract<StoreEvent, { kind: 'rest' }>;

/** Characters of an error message in a notification to other nodes, which has 8000 bytes at most. */
const MAX_MESSAGE = 500;

/** Reports cooldowns of keys to the other nodes, since they share the providers' quotas. */
export function publishCooldowns(
  store: Pick<Store, 'publish'>,
): Pick<RoutingObserver, 'onSharedCooldown'> {
  return {
    onSharedCooldown({ failure, ...rest }) {
      const { type, code, status } = failure;
      const message = failure.message.slice(0, MAX_MESSAGE);
      store.publish({ kind: 'rest', ...rest, failure: { type, message, code, status } });
    },
  };
}

/** Applies the cooldowns of keys that providers refused or limited at other nodes. */
export function followCooldowns(store: Pick<Store, 'watch'>, routings: readonly Routing[]): void {
  store.watch((event) => {
    if (event.kind !== 'rest') return;
    const cooldown = cooldownOf(event);
    if (cooldown) for (const routing of routings) routing.coolDownElsewhere(cooldown);
  });
}

/** Null for a failure of a newer version. */
function cooldownOf({ kind: _, failure, account = null, ...rest }: Notice): SharedCooldown | null {
  const { message, code, status } = failure;
  const type = failure.type as FailureType;
  if (!FAILURE_TYPES.includes(type)) return null;
  return { ...rest, account, failure: new Failure(type, message, { originalCode: code, status }) };
}
