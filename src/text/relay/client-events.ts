import type { ProviderOrigin } from '../../routing/redaction.ts';
import { redactForClient } from '../../routing/redaction.ts';
import type { Trace } from '../../telemetry/trace.ts';
import type { DialectName } from '../canonical/canonical.ts';
import type { TextEvent } from '../canonical/events.ts';
import type { Target } from '../dialects/dialect.ts';
import { bareSignature } from '../dialects/reasoning-signature.ts';

interface ClientEventsOptions {
  /** The client's dialect. */
  readonly dialect: DialectName;
  readonly target: Target;
  /** The model that answers name; null for the upstream's own name. */
  readonly model: string | null;
  /** The provider, which failures for clients must not name. */
  readonly origin: ProviderOrigin;
  /** Null where the request is not traced. */
  readonly trace: Trace | null;
}

/** Pushes the events that a client gets for one event of an upstream. */
export function passOn(
  event: TextEvent,
  { dialect, target, model, origin, trace }: ClientEventsOptions,
  push: (event: TextEvent) => void,
): void {
  switch (event.type) {
    case 'start':
      trace?.named(event.model);
      push({ ...event, model: model ?? event.model });
      return;
    case 'native':
      if (event.dialect === dialect || !event.translation) push(event);
      else event.translation.forEach(push);
      return;
    case 'reasoning-end':
      // Strict clients of messages and responses send back only reasoning with an opaque field.
      push({
        ...event,
        signature: event.signature ?? bareSignature(target.dialect, target.provider),
      });
      return;
    case 'finish':
      trace?.finished(event.raw ?? event.reason);
      push(event);
      return;
    case 'error':
      push({ type: 'error', failure: redactForClient(event.failure, origin) });
      return;
    default:
      push(event);
  }
}
