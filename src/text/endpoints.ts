import type { TextRoute } from '../config/catalog.ts';
import type { Provider } from '../config/schema.ts';
import type { DialectName } from './canonical.ts';

export type RemoteProvider = Exclude<Provider, { readonly kind: 'sandbox' }>;

const PATHS: Readonly<Record<DialectName, string>> = {
  chat: '/chat/completions',
  responses: '/responses',
  messages: '/messages',
};

/** The version of Anthropic's interface that we speak where the client does not name one. */
const ANTHROPIC_VERSION = '2023-06-01';

/** Headers of a client that mean something to an upstream of its own dialect, and are no secret. */
const FORWARDED = ['anthropic-version', 'anthropic-beta'] as const;

/** What to speak with a route: what it says, or else the provider's own; of Oriel, the client's. */
export function dialectOf(
  { dialect }: TextRoute,
  { kind }: RemoteProvider,
  client: DialectName,
): DialectName {
  if (dialect !== undefined) return dialect;
  switch (kind) {
    case 'openai':
      return 'chat';
    case 'anthropic':
      return 'messages';
    case 'oriel':
      return client;
  }
}

export function urlOf({ baseUrl }: RemoteProvider, dialect: DialectName): string {
  return baseUrl + PATHS[dialect];
}

export function headersOf(
  { kind, apiKey }: RemoteProvider,
  dialect: DialectName,
  client: { readonly dialect: DialectName; readonly headers: Headers },
): Record<string, string> {
  const headers: Record<string, string> = { 'content-type': 'application/json' };
  if (apiKey !== undefined) {
    if (kind === 'anthropic') headers['x-api-key'] = apiKey;
    else headers['authorization'] = `Bearer ${apiKey}`;
  }
  if (dialect === 'messages') headers['anthropic-version'] = ANTHROPIC_VERSION;
  if (dialect !== 'messages' || client.dialect !== 'messages') return headers;
  for (const name of FORWARDED) {
    const value = client.headers[name];
    if (typeof value === 'string') headers[name] = value;
  }
  return headers;
}

/** As Node gives them: lower-case names. */
export type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;
