import { quoteValue } from '../../schema/fields.ts';
import { FILE_SCHEME, type MediaSource } from '../canonical.ts';
import { invalid } from './request-errors.ts';

/**
 * The source of media, from a URL.
 *
 * @param path of the URL in the request
 */
export function sourceOf(url: string, path: string): MediaSource {
  if (url.startsWith(FILE_SCHEME)) return { kind: 'file', id: url };
  const scheme = url.slice(0, 8).toLowerCase();
  if (scheme.startsWith('https://') || scheme.startsWith('http://')) return { kind: 'url', url };
  if (!scheme.startsWith('data:')) {
    throw invalid(
      path,
      `expected a URL of http:, https: or data:, or ms://…, received ${quoteValue(url)}`,
    );
  }
  // Without a regular expression, since the data may have many megabytes.
  const comma = url.indexOf(',');
  const head = comma === -1 ? '' : url.slice('data:'.length, comma);
  const mediaType = head.split(';', 1)[0]!.trim().toLowerCase();
  if (mediaType === '' || !/;\s*base64\s*$/i.test(head)) {
    throw invalid(
      path,
      `expected data:<media type>;base64,<data>, received ${quoteValue(url.slice(0, 60))}`,
    );
  }
  return { kind: 'data', mediaType, data: url.slice(comma + 1) };
}

export function dataUrl({
  mediaType,
  data,
}: Extract<MediaSource, { readonly kind: 'data' }>): string {
  return `data:${mediaType};base64,${data}`;
}
