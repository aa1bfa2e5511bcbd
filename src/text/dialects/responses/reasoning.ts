import { nonEmptyTextOf, objectsOf, textOf } from '../../../schema/untrusted.ts';
import type { Json, ReasoningSignature } from '../../canonical.ts';

/** Begins the identifiers of reasoning that were made here, of which no provider knows. */
export const OWN_REASONING = 'rs_oriel';

/** What stands between two parts of a summary where they are one text. */
export const PARAGRAPH = '\n\n';

/** What a reasoning item lets read: its summary, or else its content. */
export function reasoningText(item: Json): string {
  const summary = objectsOf(item['summary']);
  const parts = summary.length > 0 ? summary : objectsOf(item['content']);
  return joined(parts);
}

/** The texts of a summary's parts, or of a content's, as one. */
export function joined(parts: readonly Json[]): string {
  return parts
    .map((part) => textOf(part['text']))
    .filter((text) => text !== '')
    .join(PARAGRAPH);
}

/** What of a reasoning item its provider wants to see again. */
export function signatureOf(item: Json, provider: string): ReasoningSignature | null {
  if (nonEmptyTextOf(item['id']) === null && nonEmptyTextOf(item['encrypted_content']) === null)
    return null;
  const { type: _, status: __, ...value } = item;
  return { dialect: 'responses', provider, value };
}

/**
 * Whether reasoning can be read by its provider where nothing is kept between requests: an
 * identifier alone then means nothing to it.
 */
export function isWhole({ value }: ReasoningSignature): boolean {
  return (
    nonEmptyTextOf(value['encrypted_content']) !== null || objectsOf(value['content']).length > 0
  );
}
