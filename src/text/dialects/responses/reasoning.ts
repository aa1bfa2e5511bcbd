import { nonEmptyTextOf, objectsOf, textOf } from '../../../schema/untrusted.ts';
import type { Json, ReasoningSignature } from '../../canonical/canonical.ts';

/** Prefix of the reasoning ids that this gateway makes, which no provider knows. */
export const OWN_REASONING = 'rs_oriel';

/** Separator of the parts of a summary in one text. */
export const PARAGRAPH = '\n\n';

/** The readable text of a reasoning item: its summary, or else its content. */
export function reasoningText(item: Json): string {
  const summary = objectsOf(item['summary']);
  const parts = summary.length > 0 ? summary : objectsOf(item['content']);
  return joinedParts(parts);
}

/** The joined texts of the parts of a summary or content. */
export function joinedParts(parts: readonly Json[]): string {
  return parts
    .map((part) => textOf(part['text']))
    .filter((text) => text !== '')
    .join(PARAGRAPH);
}

/** The properties of a reasoning item that its provider needs back; null for none. */
export function signatureOf(item: Json, provider: string): ReasoningSignature | null {
  if (nonEmptyTextOf(item['id']) === null && nonEmptyTextOf(item['encrypted_content']) === null)
    return null;
  const { type: _, status: __, ...value } = item;
  return { dialect: 'responses', provider, value };
}

/**
 * Whether a provider that does not store the reasoning can read it: an id alone does not suffice.
 */
export function isSelfContained({ value }: ReasoningSignature): boolean {
  return (
    nonEmptyTextOf(value['encrypted_content']) !== null || objectsOf(value['content']).length > 0
  );
}
