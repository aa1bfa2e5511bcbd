import { box, boxes, FULL, isTruncatedAvif } from '../avif.ts';
import { damagedImage, fileFailure } from '../file-error.ts';
import type { Warning } from '../output.ts';
import { type EditResult, editExif, isStripped, type MetadataEdit } from './edit.ts';
import { editXmp } from './xmp.ts';

/** An item (ISO/IEC 14496-12, 8.11): its entry in the list of items, and its bytes. */
interface Item {
  readonly id: number;
  readonly kind: string;
  readonly entry: Buffer;
  readonly content: Buffer;
}

/** Kinds of colour information that are a profile. */
const PROFILES = ['prof', 'rICC'];

/** Changes metadata of an AVIF. The coded pictures stay byte by byte; their places are written anew. @throws Failure */
export function editAvif(bytes: Uint8Array, edit: MetadataEdit): EditResult {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const warnings: Warning[] = [];
  try {
    return { bytes: edited(file, edit, warnings), warnings };
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw damagedImage('AVIF', 'a box ends too early');
  }
}

function edited(file: Buffer, edit: MetadataEdit, warnings: Warning[]): Buffer {
  const all = [...boxes(file)];
  const meta = all.find(({ type }) => type === 'meta')?.body;
  if (!meta || isTruncatedAvif(file)) throw new RangeError();
  if (all.some(({ type }) => type === 'moov')) throw unwritable('it is a sequence of images');
  if (edit.set.some(({ name }) => name === 'Orientation'))
    throw unwritable('its orientation is a property of the picture, which rotate changes');
  const parts = [...boxes(meta.subarray(FULL))];
  const part = (name: string) => parts.find(({ type }) => type === name)?.body;
  const pitm = part('pitm') ?? Buffer.alloc(0);
  const primary = pitm[0] === 0 ? pitm.readUInt16BE(FULL) : pitm.readUInt32BE(FULL);
  const items = itemsOf(part('iinf') ?? Buffer.alloc(0), contentsOf(file, parts));
  const contentOf = (kind: string) => items.find((item) => item.kind === kind)?.content ?? null;
  const stored = contentOf('Exif');
  const former = stored?.subarray(4 + stored.readUInt32BE(0)) ?? null;
  const exif = editExif(former, edit);
  const packet = contentOf('mime');
  const xmp = editXmp(packet, edit, warnings);
  const isWithoutProfile =
    isStripped(edit, 'icc') && PROFILES.some((kind) => file.includes(`colr${kind}`));
  const others = all.filter(({ type }) => !['meta', 'mdat', 'free', 'skip'].includes(type));
  if (exif === former && xmp === packet && !isWithoutProfile && !edit.strip.has('all')) return file;
  const pictures = items.filter(({ kind }) => kind !== 'Exif' && kind !== 'mime');
  let free = pictures.reduce((most, { id }) => Math.max(most, id), 0) + 1;
  const added = [
    ...(exif ? [{ kind: 'Exif', content: Buffer.concat([Buffer.alloc(4), exif]) }] : []),
    ...(xmp ? [{ kind: 'mime', content: xmp }] : []),
  ].map((item): Item => ({ ...item, id: free++, entry: entryOf(free - 1, item.kind) }));
  if (free > 0xffff) throw unwritable('its items have no free number');
  const kept = [...pictures, ...added];
  const ids = new Set(pictures.map(({ id }) => id));
  const head = others.filter(({ type }) => type === 'ftyp' || !edit.strip.has('all'));
  const start = Buffer.concat(head.map(({ type, body }) => box(type, body)));
  const metaOf = (place: number) => {
    const written = parts.flatMap(({ type, body }) => {
      if (type === 'idat' || type === 'iref') return [];
      if (type === 'iinf')
        return [
          box(type, integer(4, 0), integer(2, kept.length), ...kept.map(({ entry }) => entry)),
        ];
      if (type === 'iloc') return [locations(kept, place)];
      if (type === 'iprp' && isWithoutProfile) return [box(type, withoutProfile(body))];
      return [box(type, body)];
    });
    const references = referencesOf(
      part('iref'),
      ids,
      added.map(({ id }) => id),
      primary,
    );
    return box('meta', meta.subarray(0, FULL), ...written, ...references);
  };
  const place = start.length + metaOf(0).length + 8;
  return Buffer.concat([start, metaOf(place), box('mdat', ...kept.map(({ content }) => content))]);
}

function integer(size: 2 | 4, value: number): Buffer {
  const bytes = Buffer.alloc(size);
  bytes.writeUIntBE(value, 0, size);
  return bytes;
}

/** Bytes of each item by its number (8.11.3). */
function contentsOf(file: Buffer, parts: readonly { type: string; body: Buffer }[]) {
  const part = (name: string) => parts.find(({ type }) => type === name)?.body ?? Buffer.alloc(0);
  const [iloc, data] = [part('iloc'), part('idat')];
  const version = iloc.readUInt8(0);
  let at = FULL + 2;
  const read = (size: number) => {
    at += size;
    return size === 0
      ? 0
      : size === 8
        ? Number(iloc.readBigUInt64BE(at - 8))
        : iloc.readUIntBE(at - size, size);
  };
  const nibbles = iloc.readUInt16BE(FULL);
  const [offset, length, base, index] = [12, 8, 4, 0].map((shift) => (nibbles >> shift) & 15);
  const wide = version === 2 ? 4 : 2;
  const contents = new Map<number, Buffer>();
  /** Bytes that may still be copied: parts of items do not overlap. */
  let left = file.length;
  for (let count = read(wide); count > 0; count -= 1) {
    const id = read(wide);
    const method = version === 0 ? 0 : read(2) & 15;
    if (read(2) !== 0 || method > 1) throw unwritable('its items are in other files or items');
    const source = method === 1 ? data : file;
    const first = read(base!);
    const extents: Buffer[] = [];
    for (let more = read(2); more > 0; more -= 1) {
      if (version > 0) read(index!);
      const start = first + read(offset!);
      const end = start + read(length!);
      left -= end - start;
      if (end > source.length || end === start || left < 0) throw new RangeError();
      extents.push(source.subarray(start, end));
    }
    contents.set(id, Buffer.concat(extents));
  }
  return contents;
}

function itemsOf(iinf: Buffer, contents: ReadonlyMap<number, Buffer>): Item[] {
  const entries = [...boxes(iinf.subarray(FULL + (iinf.readUInt8(0) === 0 ? 2 : 4)))];
  return entries.map(({ type, body }) => {
    const version = body.readUInt8(0);
    if (type !== 'infe' || version < 2) throw unwritable('its list of items is of another kind');
    const id = version === 2 ? body.readUInt16BE(FULL) : body.readUInt32BE(FULL);
    const at = FULL + (version === 2 ? 4 : 6);
    const named = body.toString('latin1', at, at + 4);
    const isXmp = named === 'mime' && body.includes('application/rdf+xml');
    const kind = named === 'mime' && !isXmp ? 'other' : named;
    return { id, kind, entry: box(type, body), content: contents.get(id) ?? Buffer.alloc(0) };
  });
}

function entryOf(id: number, kind: string): Buffer {
  const type = Buffer.from(kind === 'mime' ? 'mime\0application/rdf+xml\0' : 'Exif\0', 'latin1');
  return box('infe', integer(4, 0x0200_0001), integer(2, id), integer(2, 0), type);
}

/** Where items without a gap between them are, of four bytes each. */
function locations(items: readonly Item[], start: number): Buffer {
  const full = items.filter(({ content }) => content.length > 0);
  let place = start;
  const entries = full.flatMap(({ id, content }) => {
    place += content.length;
    const extent = [integer(4, place - content.length), integer(4, content.length)];
    return [integer(2, id), integer(2, 0), integer(2, 1), ...extent];
  });
  return box('iloc', integer(4, 0), integer(2, 0x4400), integer(2, full.length), ...entries);
}

/** References between items that are left, and of metadata to the picture. */
function referencesOf(
  iref: Buffer | undefined,
  ids: ReadonlySet<number>,
  added: readonly number[],
  primary: number,
): Buffer[] {
  if (iref && iref.readUInt8(0) > 0) throw unwritable('its references have 32 bits');
  const kept = [...boxes(iref?.subarray(FULL) ?? Buffer.alloc(0))]
    .filter(({ body }) => ids.has(body.readUInt16BE(0)))
    .map(({ type, body }) => box(type, body));
  const describing = added.map((id) =>
    box('cdsc', integer(2, id), integer(2, 1), integer(2, primary)),
  );
  const all = [...kept, ...describing];
  return all.length > 0 ? [box('iref', integer(4, 0), ...all)] : [];
}

/** Properties with a free box in place of each profile, since their numbers count. */
function withoutProfile(iprp: Buffer): Buffer {
  const copies = [...boxes(iprp)].map(({ type, body }) => {
    if (type !== 'ipco') return box(type, body);
    const kept = [...boxes(body)].map((one) => {
      const isProfile = one.type === 'colr' && PROFILES.includes(one.body.toString('latin1', 0, 4));
      return isProfile ? box('free') : box(one.type, one.body);
    });
    return box(type, ...kept);
  });
  return Buffer.concat(copies);
}

function unwritable(detail: string) {
  return fileFailure('metadata_not_writable', `metadata of this AVIF cannot be changed: ${detail}`);
}
