import { withoutKey } from '../routing/upstream-failure.ts';
import type { DialectName, TextEvent } from './canonical.ts';

interface ClientEventsOptions {
  /** The client's. */
  readonly dialect: DialectName;
  /** The provider's key, which no failure may tell. */
  readonly secret: string | undefined;
}

/** The events that tell a client of a dialect what an upstream's event said. */
export function clientEvents(
  event: TextEvent,
  { dialect, secret }: ClientEventsOptions,
): readonly TextEvent[] {
  switch (event.type) {
    case 'native':
      return event.dialect === dialect ? [event] : (event.said ?? [event]);
    case 'error':
      return [{ type: 'error', failure: withoutKey(event.failure, secret) }];
    default:
      return [event];
  }
}
