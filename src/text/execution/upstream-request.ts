import type { TextRoute } from '../../config/catalog.ts';
import type { Provider } from '../../config/schema.ts';
import type { DialectName } from '../canonical.ts';

export type RemoteProvider = Exclude<Provider, { readonly kind: 'sandbox' }>;

const PATHS: Readonly<Record<DialectName, string>> = {
  chat: '/chat/completions',
  responses: '/responses',
  messages: '/messages',
};

/** The version of Anthropic's interface that we speak where the client does not name one. */
const ANTHROPIC_VERSION = '2023-06-01';

/**
 * Betas of Anthropic's, without their dates, that change neither what a request costs nor whose it is,
 * or do so by a property of the body alone, which must be allowed by its own name.
 */
const BETAS = new Set([
  'adaptive-thinking',
  'advanced-tool-use',
  'advisor-tool',
  'cache-diagnosis',
  'claude-code',
  'code-execution',
  'compact',
  'computer-use',
  'context-management',
  'dev-full-thinking',
  'effort',
  'extended-cache-ttl',
  'fallback-credit',
  'fast-mode',
  'files-api',
  'fine-grained-tool-streaming',
  'inline-tools',
  'interleaved-thinking',
  'mcp-client',
  'mid-conversation-output-config',
  'mid-conversation-system-clear-at',
  'mid-conversation-tool-changes',
  'model-context-window-exceeded',
  'output-128k',
  'output-300k',
  'pdfs',
  'prompt-caching',
  'prompt-caching-scope',
  'redact-thinking',
  'server-side-fallback',
  'skills',
  'structured-outputs',
  'task-budgets',
  'thinking-binding-controls',
  'thinking-display-updates',
  'thinking-token-count',
  'token-counting',
  'token-efficient-tools',
  'tool-examples',
  'tool-search-tool',
  'web-fetch',
]);

/** The header by which a client asks for betas. */
const BETA = 'anthropic-beta';

/** Betas that a client asks for: those that an upstream is asked for, and those that are left out. */
export interface Betas {
  readonly sent: readonly string[];
  readonly ignored: readonly string[];
}

/** @param all whether every beta is allowed */
export function betasOf(headers: Headers, all: boolean): Betas {
  const value = headers[BETA];
  const asked = typeof value === 'string' ? value.split(',').map((name) => name.trim()) : [];
  const isAllowed = (name: string) => all || BETAS.has(name.replace(/-\d{4}-\d\d-\d\d$/, ''));
  return {
    sent: asked.filter((name) => name !== '' && isAllowed(name)),
    ignored: asked.filter((name) => name !== '' && !isAllowed(name)),
  };
}

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
  betas: Betas,
): Record<string, string> {
  const headers: Record<string, string> = { 'content-type': 'application/json' };
  if (apiKey !== undefined) {
    if (kind === 'anthropic') headers['x-api-key'] = apiKey;
    else headers['authorization'] = `Bearer ${apiKey}`;
  }
  if (dialect === 'messages') headers['anthropic-version'] = ANTHROPIC_VERSION;
  if (dialect !== 'messages' || client.dialect !== 'messages') return headers;
  const version = client.headers['anthropic-version'];
  if (typeof version === 'string') headers['anthropic-version'] = version;
  if (betas.sent.length > 0) headers[BETA] = betas.sent.join(',');
  return headers;
}

/** As Node gives them: lower-case names. */
export type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;
