import { escapeXml, unescapeXml } from '../../schema/xml.ts';
import { sanitise } from '../exif/text.ts';
import { fileFailure } from '../file-error.ts';
import { placeOf, TEXT_NAMES, type TextName, type Texts } from './text-places.ts';

const DC = 'http://purl.org/dc/elements/1.1/';
const RDF = 'http://www.w3.org/1999/02/22-rdf-syntax-ns#';

/** Most bytes of XMP that are read; more is removed as a whole, or left as it is. */
export const MAX_XMP_BYTES = 4 * 1024 * 1024;

/** An element: its name, its places and that of its content. */
interface Element {
  readonly name: string;
  readonly start: number;
  /** Places of the content; the same if the element is empty. */
  readonly from: number;
  to: number;
  end: number;
}

/** An XMP packet: the descriptions of the picture, and their properties (ISO 16684-1, 7.4). */
export interface Packet {
  readonly text: string;
  /** Prefixes of Dublin Core and of RDF. */
  readonly dc: string;
  readonly rdf: string;
  /** The element RDF; null if there is none. */
  readonly root: Element | null;
  readonly descriptions: readonly Element[];
  readonly properties: readonly Element[];
}

/** Parts of XML that have no elements. */
const SKIPPED = [
  ['<!--', '-->'],
  ['<?', '?>'],
] as const;
const TAG = /<(\/?)([\w.:-]+)(?:[^<>"']|"[^"<]*"|'[^'<]*')*?(\/?)>/y;

/**
 * Reads a packet in UTF-8 or UTF-16; null if it is damaged, very long, or has parts that XMP has not: a document type,
 * whose entities could grow, or CDATA. Takes linear time.
 */
export function readPacket(bytes: Uint8Array): Packet | null {
  if (bytes.length > MAX_XMP_BYTES) return null;
  const text = decode(bytes);
  const prefix = (namespace: string, usual: string) => {
    const at = text.search(new RegExp(`["']${namespace.replace(/[./]/g, '\\$&')}["']`));
    return /xmlns:([\w.-]+)\s*=\s*$/.exec(text.slice(Math.max(0, at - 80), at))?.[1] ?? usual;
  };
  const [dc, rdf] = [prefix(DC, 'dc'), prefix(RDF, 'rdf')];
  const [open, roots, descriptions, properties]: Element[][] = [[], [], [], []];
  for (let at = text.indexOf('<'); at >= 0; at = text.indexOf('<', at)) {
    const skipped = SKIPPED.find(([begin]) => text.startsWith(begin, at));
    if (skipped) {
      const end = text.indexOf(skipped[1], at);
      if (end < 0) return null;
      at = end + skipped[1].length;
      continue;
    }
    TAG.lastIndex = at;
    const [tag, closing, name = '', empty] = TAG.exec(text) ?? [];
    if (tag === undefined) return null;
    const end = at + tag.length;
    if (closing) {
      const element = open!.pop();
      if (element?.name !== name) return null;
      element.to = at;
      element.end = end;
    } else {
      const element = { name, start: at, from: end, to: end, end };
      const [parent, grandparent] = [open!.at(-1), open!.at(-2)];
      if (name === `${rdf}:RDF`) roots!.push(element);
      else if (parent?.name === `${rdf}:RDF`) descriptions!.push(element);
      else if (grandparent?.name === `${rdf}:RDF`) properties!.push(element);
      if (!empty) open!.push(element);
    }
    at = end;
  }
  if (open!.length > 0) return null;
  return {
    ...{ text, dc, rdf, root: roots![0] ?? null },
    ...{ descriptions: descriptions!, properties: properties! },
  };
}

function decode(bytes: Uint8Array): string {
  const start = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, 2));
  const [one, other] = start;
  const utf16 = one === 0 || one === 0xfe ? 'utf-16be' : other === 0 || one === 0xff;
  return new TextDecoder(utf16 === true ? 'utf-16le' : utf16 || 'utf-8').decode(bytes);
}

/** The texts of a packet; none of a damaged one. */
export function xmpTexts(packet: Packet | null): Texts {
  if (packet === null) return {};
  const { text, dc, rdf, properties } = packet;
  const item = new RegExp(`<${rdf}:li\\b([^<>]*)>([^<]*)</${rdf}:li`, 'g');
  const valuesOf = (name: TextName) => {
    const { property, list } = placeOf(name);
    const found = properties.find((element) => element.name === `${dc}:${property}`);
    if (!found) return [];
    const content = text.slice(found.from, found.to);
    const items = [...content.matchAll(item)];
    if (items.length === 0) return content.includes('<') ? [] : [content];
    const standard = items.find(([, attributes]) => attributes?.includes('x-default')) ?? items[0];
    return (list === 'Alt' ? [standard!] : items).map((one) => one[2]!);
  };
  const entries = TEXT_NAMES.map((name) => [
    name,
    valuesOf(name)
      .map((one) => sanitise(unescapeXml(one)))
      .filter(Boolean),
  ]);
  return Object.fromEntries(entries);
}

/**
 * A packet with other texts, as UTF-8; a new one for null.
 *
 * @throws Failure metadata_not_writable
 */
export function xmpWithTexts(xmp: Uint8Array | null, texts: Texts): Buffer {
  const former = xmp === null ? EMPTY : readPacket(xmp);
  if (!former?.root)
    throw fileFailure('metadata_not_writable', 'XMP is damaged; strip xmp removes it');
  const { text, dc, rdf, root, descriptions, properties } = former;
  const [first] = descriptions;
  const names = Object.keys(texts) as TextName[];
  const cuts: { start: number; end: number; by: string }[] = [];
  for (const { property } of names.map(placeOf)) {
    for (const { name, start, end } of properties)
      if (name === `${dc}:${property}`) cuts.push({ start, end, by: '' });
  }
  const added = names.flatMap((name) => {
    const { property, list } = placeOf(name);
    const items = texts[name]!.map((one) => {
      const language = list === 'Alt' ? ' xml:lang="x-default"' : '';
      return `<${rdf}:li${language}>${escapeXml(one)}</${rdf}:li>`;
    });
    const array = `<${rdf}:${list}>${items.join('')}</${rdf}:${list}>`;
    return items.length === 0
      ? []
      : [`<${dc}:${property} xmlns:${dc}="${DC}">${array}</${dc}:${property}>`];
  });
  // Before a cut at the same place.
  if (added.length > 0) cuts.unshift(insertion(former, root, first, added.join('')));
  let at = 0;
  const parts = cuts
    .sort((one, other) => one.start - other.start)
    .map(({ start, end, by }) => {
      const part = text.slice(at, start) + by;
      at = end;
      return part;
    });
  return Buffer.from(parts.join('') + text.slice(at));
}

/** Where new properties are written: in the first description, or a new one. */
function insertion({ text, rdf }: Packet, root: Element, first: Element | undefined, xml: string) {
  const parent = first ?? root;
  const content = first ? xml : `<${rdf}:Description ${rdf}:about="">${xml}</${rdf}:Description>`;
  const isEmpty = text[parent.from - 2] === '/';
  if (!isEmpty) return { start: parent.from, end: parent.from, by: content };
  return { start: parent.from - 2, end: parent.from, by: `>${content}</${parent.name}>` };
}

const EMPTY = readPacket(
  Buffer.from(
    '<?xpacket begin="\uFEFF" id="W5M0MpCehiHzreSzNTczkc9d"?><x:xmpmeta xmlns:x="adobe:ns:meta/">' +
      `<rdf:RDF xmlns:rdf="${RDF}"></rdf:RDF></x:xmpmeta><?xpacket end="w"?>`,
  ),
);
