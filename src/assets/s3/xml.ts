import { escapeXml, unescapeXml } from '../../schema/xml.ts';

/** One object of a listing. */
export interface ListedObject {
  readonly key: string;
  /** Milliseconds since the epoch. */
  readonly modifiedAt: number;
}

/** One page of a listing. */
export interface Listing {
  readonly objects: readonly ListedObject[];
  /** Token of the next page; null on the last one. */
  readonly next: string | null;
}

/** An error of an S3 service. */
export interface S3Error {
  readonly code: string;
  readonly message: string;
}

/** The text of the first element of a name; undefined if there is none. */
function textOf(xml: string, name: string): string | undefined {
  const [, text] = new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml) ?? [];
  return text === undefined ? undefined : unescapeXml(text);
}

/** The content of each element of a name that has elements in it. */
function elementsOf(xml: string, name: string): readonly string[] {
  return xml
    .split(`<${name}>`)
    .slice(1)
    .map((rest) => rest.split(`</${name}>`, 1)[0]!);
}

/** Reads a response of ListObjectsV2; null if it is none. */
export function readListing(xml: string): Listing | null {
  if (!xml.includes('<ListBucketResult')) return null;
  const objects = elementsOf(xml, 'Contents').map((element) => ({
    key: textOf(element, 'Key') ?? '',
    modifiedAt: Date.parse(textOf(element, 'LastModified') ?? ''),
  }));
  const isTruncated = textOf(xml, 'IsTruncated') === 'true';
  return { objects, next: (isTruncated && textOf(xml, 'NextContinuationToken')) || null };
}

/** The body of DeleteObjects. */
export function deletionOf(keys: readonly string[]): string {
  const objects = keys.map((key) => `<Object><Key>${escapeXml(key)}</Key></Object>`).join('');
  return `<Delete xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Quiet>true</Quiet>${objects}</Delete>`;
}

/** The error of a response; of DeleteObjects, also of one object. Null if there is none. */
export function readError(xml: string): S3Error | null {
  const [element] = elementsOf(xml, 'Error');
  if (element === undefined) return null;
  return { code: textOf(element, 'Code') ?? '', message: textOf(element, 'Message') ?? '' };
}
