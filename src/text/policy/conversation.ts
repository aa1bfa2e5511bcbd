import { createHash, type Hash } from 'node:crypto';
import type { Conversation } from '../../routing/affinity.ts';
import { isObject, nonEmptyTextOf } from '../../schema/untrusted.ts';
import type { KeyHolder } from '../../store/store.ts';
import type { Part, TextRequest } from '../canonical/canonical.ts';

/** Characters that are hashed of the instructions, tools and first turn of a conversation. */
const MAX_HASHED = 32_768;

/** Characters that are hashed of one text at most, so that long instructions do not hide the first turn. */
const MAX_TEXT = 8192;

/** The client's own name of the conversation: the key of its cache, or a user with a session. */
function labelOf({ body }: TextRequest): string | null {
  const key = nonEmptyTextOf(body['prompt_cache_key']);
  if (key !== null) return key;
  const { metadata } = body;
  const user = isObject(metadata) ? nonEmptyTextOf(metadata['user_id']) : null;
  return user?.includes('session') ? user : null;
}

/** Hashes pieces of text, each with its length, up to a limit in all. */
class PrefixHash {
  readonly #hash: Hash;
  #left = MAX_HASHED;

  constructor(hash: Hash) {
    this.#hash = hash;
  }

  add(text: string): void {
    if (this.#left <= 0) return;
    const piece = text.slice(0, Math.min(MAX_TEXT, this.#left));
    this.#left -= piece.length + 1;
    this.#hash.update(`${text.length}:${piece}\n`);
  }

  addPart(part: Part): void {
    switch (part.type) {
      case 'text':
        this.add(part.text);
        return;
      case 'media': {
        const { source } = part;
        this.add(
          source.kind === 'data' ? source.data : source.kind === 'url' ? source.url : source.id,
        );
        return;
      }
      default:
        this.add(part.type);
    }
  }
}

/** Hashes what stays the same in all requests of a conversation: instructions, tools, the first user turn. */
function addPrefix(prefix: PrefixHash, { turns, tools }: TextRequest): void {
  for (const { role, parts } of turns) {
    prefix.add(role);
    for (const part of parts) prefix.addPart(part);
    if (role === 'user') break;
  }
  for (const tool of tools) prefix.add(tool.type === 'tool' ? tool.name : tool.path);
}

/**
 * The conversation of a request, of one API key and model: by the client's label, or else by its
 * beginning.
 *
 * @param modelId the model's identifier in the configuration
 */
export function conversationOf(
  request: TextRequest,
  modelId: string,
  { account, key }: KeyHolder,
): Conversation {
  const label = labelOf(request);
  let computed: string | null = null;
  return {
    accountId: account.id,
    // A single request with the beginning of another has no reason to leave the first route.
    continues: label !== null || request.turns.some(({ role }) => role === 'assistant'),
    key: () => {
      if (computed !== null) return computed;
      const hash = createHash('sha256').update(`${key.id}\n${modelId}\n${label !== null}\n`);
      const prefix = new PrefixHash(hash);
      if (label !== null) prefix.add(label);
      else addPrefix(prefix, request);
      computed = hash.digest('base64');
      return computed;
    },
  };
}
