import { words } from '../../../words.ts';
import type { ForwardedHeaders, Headers } from '../dialect.ts';

/** The version of Anthropic's interface that requests name where the client does not. */
export const VERSION = { 'anthropic-version': '2023-06-01' };

/**
 * Anthropic's betas, without their dates, that change neither the cost nor the account of a request, or
 * only with a property of the body, which must be allowed by its own name.
 */
const BETAS = new Set(
  words(`adaptive-thinking advanced-tool-use advisor-tool cache-diagnosis claude-code code-execution
   compact computer-use context-management dev-full-thinking effort extended-cache-ttl
   fallback-credit fast-mode files-api fine-grained-tool-streaming inline-tools
   interleaved-thinking mcp-client mid-conversation-output-config
   mid-conversation-system-clear-at mid-conversation-tool-changes model-context-window-exceeded
   output-128k output-300k pdfs prompt-caching prompt-caching-scope redact-thinking
   server-side-fallback skills structured-outputs task-budgets thinking-binding-controls
   thinking-display-updates thinking-token-count token-counting token-efficient-tools
   tool-examples tool-search-tool web-fetch`),
);

/** The header by which a client asks for betas. */
const BETA = 'anthropic-beta';

/** The version and the betas that a client names. @param allowsAll whether every beta is allowed */
export function forwardHeaders(headers: Headers, allowsAll: boolean): ForwardedHeaders {
  const { [BETA]: betas, 'anthropic-version': version } = headers;
  const names = typeof betas === 'string' ? betas.split(',').map((name) => name.trim()) : [];
  const isAllowed = (name: string) => allowsAll || BETAS.has(name.replace(/-\d{4}-\d\d-\d\d$/, ''));
  const sent = names.filter((name) => name !== '' && isAllowed(name));
  return {
    sent: {
      ...(typeof version === 'string' && { 'anthropic-version': version }),
      ...(sent.length > 0 && { [BETA]: sent.join(',') }),
    },
    ignored: names.filter((name) => name !== '' && !isAllowed(name)),
  };
}
