import { createHash } from 'node:crypto';
import { nonEmptyTextOf } from '../../schema/untrusted.ts';
import type { EndUser, Json, TextRequest } from '../canonical/canonical.ts';

/** Characters of an identifier of the end user at OpenAI. */
export const MAX_OPENAI_USER = 64;

/** The end user by OpenAI's names, the newer of which is preferred. */
export function openaiEndUser(body: Json): EndUser | null {
  for (const path of ['safety_identifier', 'user']) {
    const id = nonEmptyTextOf(body[path]);
    if (id !== null) return { path, id };
  }
  return null;
}

/**
 * The identifier of the end user for an upstream of another dialect than the client's: a hash of one
 * that is too long, since providers refuse it. Null for none.
 */
export function endUserOnWire({ endUser }: TextRequest, most: number): string | null {
  if (!endUser) return null;
  const { id } = endUser;
  return id.length <= most ? id : createHash('sha256').update(id).digest('hex');
}
