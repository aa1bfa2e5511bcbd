import { contentOf, isKind, segmentOf } from './metadata.ts';
import { secondPicture } from './pictures.ts';
import { joinJpeg, MARKER, type Segment, segmentBytes, splitJpeg } from './segments.ts';

/** A picture of the gain by which displays of a high dynamic range brighten another one. */
export interface GainMap {
  /** A JPEG without metadata. */
  readonly picture: Buffer;
  /** What describes the map: Adobe's properties of XMP (Gain Map Specification 1.0), and the segment of ISO 21496-1. */
  readonly properties: string;
  readonly iso: Segment | undefined;
}

const HDRGM = 'http://ns.adobe.com/hdr-gain-map/1.0/';
const ISO = 'urn:iso:std:iso:ts:21496:-1\0';
/** Most characters of XMP that are searched. */
const MAX_XMP = 65_536;

const isIso = ({ marker, data }: Segment) =>
  marker === MARKER.APP2 && data.toString('latin1', 0, ISO.length) === ISO;

/** The gain map of a JPEG; null without one, and for one that neither Adobe's nor ISO's rules describe. */
export function readGainMap(file: Uint8Array): GainMap | null {
  try {
    const found = secondPicture(file);
    if (!found) return null;
    const { segments, scans } = splitJpeg(found);
    const iso = segments.find(isIso);
    const xmp = segments.find((segment) => isKind(segment, 'xmp'));
    const properties = xmp
      ? propertiesOf(contentOf(xmp, 'xmp').toString('latin1', 0, MAX_XMP))
      : '';
    if (!iso && properties === '') return null;
    const bare = segments.filter(({ marker }) => marker < MARKER.APP0 || marker > MARKER.COM);
    return { picture: joinJpeg(bare, scans), properties, iso };
  } catch {
    // Damage of further pictures does not matter to the first one.
    return null;
  }
}

/** Adobe's properties, as attributes and elements, without others, which may tell where a picture was taken. */
function propertiesOf(xmp: string): string {
  const found = xmp.matchAll(
    /\bhdrgm:(\w{1,30})(?:="([^"<&]{1,40})"|>([^/]{1,40}|[\s\S]{1,300}?<\/rdf:Seq>\s*)<\/)/g,
  );
  let attributes = '';
  let elements = '';
  for (const [, name, attribute, content = ''] of found) {
    const numbers = content.match(/[-+]?\d[\d.]*(?:[eE][-+]?\d+)?|True|False/g) ?? [];
    const items = numbers.map((number) => `<rdf:li>${number}</rdf:li>`).join('');
    if (numbers.length > 1)
      elements += `<hdrgm:${name}><rdf:Seq>${items}</rdf:Seq></hdrgm:${name}>`;
    else attributes += ` hdrgm:${name}="${attribute ?? numbers[0]}"`;
  }
  return attributes && `${attributes}>${elements}`;
}

const describe = (content: string) =>
  `<rdf:Description rdf:about="" xmlns:hdrgm="${HDRGM}"${content}</rdf:Description>`;

const packet = (description: string) =>
  `<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">${description}</rdf:RDF></x:xmpmeta>`;

/** The list of items that readers look for (Ultra HDR Image Format 1.1, GContainer). */
function directory(length: number): string {
  const names =
    ' xmlns:Container="http://ns.google.com/photos/1.0/container/" xmlns:Item="http://ns.google.com/photos/1.0/container/item/"';
  const item = (semantic: string) =>
    `<rdf:li rdf:parseType="Resource"><Container:Item Item:Semantic="${semantic}" Item:Mime="image/jpeg"`;
  const items = `${item('Primary')}/></rdf:li>${item('GainMap')} Item:Length="${length}"/></rdf:li>`;
  const list = `<Container:Directory><rdf:Seq>${items}</rdf:Seq></Container:Directory>`;
  return describe(`${names} hdrgm:Version="1.0">${list}`);
}

/** A JPEG with a gain map after it. @param picture the map, if it is not that of `gainMap` */
export function attachGainMap(
  jpeg: Uint8Array,
  { properties, iso, picture: own }: GainMap,
  picture: Uint8Array = own,
): Buffer {
  const segmentOfXmp = (text: string) => segmentOf('xmp', Buffer.from(text, 'utf8'));
  const marks = [
    ...(properties ? [segmentOfXmp(packet(describe(properties)))] : []),
    ...(iso ? [iso] : []),
  ];
  const second = Buffer.concat([
    ...[picture.subarray(0, 2), ...marks.map(segmentBytes), picture.subarray(2)],
  ]);
  const { segments, scans } = splitJpeg(jpeg);
  const former = segments.find((segment) => isKind(segment, 'xmp'));
  const text = former ? contentOf(former, 'xmp').toString('utf8') : packet('');
  const xmp = text.includes(HDRGM)
    ? text.replace(/(Item:Length=")\d+/g, `$1${second.length}`)
    : text.replace('</rdf:RDF>', `${directory(second.length)}</rdf:RDF>`);
  const others = segments.filter(
    (one) => one !== former && !isKind(one, 'pictures') && !isIso(one),
  );
  const at = others.findIndex(({ marker }) => marker !== MARKER.APP0 && marker !== MARKER.APP1);
  const head = [
    ...others.slice(0, at),
    ...(properties ? [segmentOfXmp(xmp)] : former ? [former] : []),
    ...(iso ? [{ marker: MARKER.APP2, data: Buffer.from(`${ISO}\0\0\0\0`, 'latin1') }] : []),
  ];
  const whole = (list: Buffer) =>
    joinJpeg([...head, segmentOf('pictures', list), ...others.slice(at)], scans);
  const first = whole(pictureList(0, 0, 0)).length;
  const place = joinJpeg(head, Buffer.alloc(8)).length;
  return Buffer.concat([whole(pictureList(first, second.length, first - place)), second]);
}

/** The list of two pictures (CIPA DC-007, 5.2). @param offset of the second one from the list */
function pictureList(first: number, second: number, offset: number): Buffer {
  const list = Buffer.alloc(82);
  list.write('MM\0*\0\0\0\x08\0\x03', 'latin1');
  const fields = [
    [0xb000, 7, 4, 0x30_31_30_30],
    [0xb001, 4, 1, 2],
    [0xb002, 7, 32, 50],
  ] as const;
  for (const [index, [tag, type, count, value]] of fields.entries()) {
    list.writeUInt32BE(tag * 65_536 + type, 10 + index * 12);
    list.writeUInt32BE(count, 14 + index * 12);
    list.writeUInt32BE(value, 18 + index * 12);
  }
  for (const [index, value] of [0x03_00_00, first, 0, 0, 0, second, offset].entries()) {
    list.writeUInt32BE(value, 50 + index * 4);
  }
  return list;
}
