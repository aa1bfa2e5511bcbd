import { secretsOf } from '../config/provider-secrets.ts';
import type { Config } from '../config/schema.ts';
import { keysRedactor } from './redaction.ts';

const REDACTORS = new WeakMap<Config['providers'], (text: string) => string>();

/**
 * Removes the secrets of all providers from texts: a provider that relays to another may quote the
 * other's key. Made once for each loaded configuration.
 */
export function secretsRedactor(providers: Config['providers']): (text: string) => string {
  let redact = REDACTORS.get(providers);
  if (redact === undefined) {
    redact = keysRedactor(Object.values(providers).flatMap(secretsOf));
    REDACTORS.set(providers, redact);
  }
  return redact;
}
