import { countOf, isObject, listOf, nonEmptyTextOf, objectsOf } from '../../../schema/untrusted.ts';
import type { Json } from '../../canonical/canonical.ts';
import type { Citation } from '../../canonical/events.ts';

/**
 * The sources of an answer: of a grounded one its web pages, of a recited one the cited texts.
 *
 * @param text the text block that they are in; Google counts its bytes
 */
export function citationsOf(
  { groundingMetadata, citationMetadata }: Json,
  text: string,
): Citation[] {
  return [...groundingOf(groundingMetadata, text), ...recitationsOf(citationMetadata, text)];
}

function groundingOf(metadata: unknown, text: string): Citation[] {
  if (!isObject(metadata)) return [];
  const pages = listOf(metadata['groundingChunks']).map((chunk) =>
    isObject(chunk) && isObject(chunk['web']) ? chunk['web'] : null,
  );
  return objectsOf(metadata['groundingSupports']).flatMap((support) => {
    const segment = isObject(support['segment']) ? support['segment'] : {};
    return listOf(support['groundingChunkIndices']).flatMap((index) => {
      const page = typeof index === 'number' ? pages[index] : null;
      return page ? citationOf(page, segment, text) : [];
    });
  });
}

function recitationsOf(metadata: unknown, text: string): Citation[] {
  if (!isObject(metadata)) return [];
  const sources = objectsOf(metadata['citations'] ?? metadata['citationSources']);
  return sources.flatMap((source) => citationOf(source, source, text));
}

function citationOf(
  page: Json,
  { startIndex, endIndex, text: quote }: Json,
  text: string,
): Citation[] {
  const url = nonEmptyTextOf(page['uri']);
  if (url === null) return [];
  return [
    {
      url,
      title: nonEmptyTextOf(page['title']),
      start: endIndex === undefined ? null : characterAt(text, countOf(startIndex) ?? 0),
      end: characterAt(text, countOf(endIndex)),
      quote: nonEmptyTextOf(quote),
    },
  ];
}

/** The position of a byte of the text's UTF-8. */
function characterAt(text: string, byte: number | null): number | null {
  if (byte === null) return null;
  return Buffer.from(text).subarray(0, byte).toString().length;
}
