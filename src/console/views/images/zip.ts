import { u16, u32 } from '../../components/bytes.ts';

/** A file of a ZIP that is stored as it is. */
export interface ZipEntry {
  readonly name: string;
  readonly blob: Blob;
  /** CRC-32 of its bytes. */
  readonly crc: number;
}

/** Signatures and sizes of records (PKWARE APPNOTE 6.3.10, sections 4.3.7, 4.3.12 and 4.3.16). */
const LOCAL = { signature: 0x04034b50, bytes: 30 };
const CENTRAL = { signature: 0x02014b50, bytes: 46 };
const END = { signature: 0x06054b50, bytes: 22 };

/** Bytes of the longest comment, which follows the last record. */
const MAX_COMMENT = 0xffff;

/** Larger ones need ZIP64. */
const MAX_BYTES = 0xffffffff;
const MAX_ENTRIES = 0xfffe;

async function viewOf(blob: Blob, start: number, end: number): Promise<DataView> {
  const part = blob.slice(Math.max(0, start), end);
  return new DataView(await part.arrayBuffer());
}

/**
 * The files of a ZIP without compression. Their bytes are not copied.
 *
 * @throws Error if it is damaged, cut off or compressed
 */
export async function readZip(blob: Blob): Promise<readonly ZipEntry[]> {
  try {
    return await entriesOf(blob);
  } catch (error) {
    // A DataView throws RangeError for a position that a damaged record states.
    if (error instanceof RangeError) throw new Error('the ZIP is damaged');
    throw error;
  }
}

async function entriesOf(blob: Blob): Promise<readonly ZipEntry[]> {
  const tail = await viewOf(blob, blob.size - END.bytes - MAX_COMMENT, blob.size);
  let end = tail.byteLength - END.bytes;
  while (end >= 0 && tail.getUint32(end, true) !== END.signature) end -= 1;
  if (end < 0) throw new Error('the ZIP is cut off');
  const count = tail.getUint16(end + 10, true);
  const size = tail.getUint32(end + 12, true);
  const start = tail.getUint32(end + 16, true);
  const central = await viewOf(blob, start, start + size);
  const entries: ZipEntry[] = [];
  for (let at = 0; entries.length < count; ) {
    if (central.getUint32(at, true) !== CENTRAL.signature) throw new Error('the ZIP is damaged');
    const [nameBytes, extraBytes, commentBytes] = [28, 30, 32].map((field) =>
      central.getUint16(at + field, true),
    ) as [number, number, number];
    const method = central.getUint16(at + 10, true);
    const crc = central.getUint32(at + 16, true);
    const bytes = central.getUint32(at + 20, true);
    const offset = central.getUint32(at + 42, true);
    if (method !== 0) throw new Error('the ZIP is compressed');
    const name = new TextDecoder().decode(
      new Uint8Array(central.buffer, at + CENTRAL.bytes, nameBytes),
    );
    const local = await viewOf(blob, offset, offset + LOCAL.bytes);
    if (local.getUint32(0, true) !== LOCAL.signature) throw new Error('the ZIP is damaged');
    const from = offset + LOCAL.bytes + local.getUint16(26, true) + local.getUint16(28, true);
    if (from + bytes > start) throw new Error('the ZIP is damaged');
    entries.push({ name, crc, blob: blob.slice(from, from + bytes) });
    at += CENTRAL.bytes + nameBytes + extraBytes + commentBytes;
  }
  return entries;
}

/**
 * A ZIP without compression. The bytes of files are not copied.
 *
 * @param modified the time of all files
 * @throws Error for more than 4 GiB or 65,534 files
 */
export function writeZip(entries: readonly ZipEntry[], modified: Date): Blob {
  const parts: BlobPart[] = [];
  const central: BlobPart[] = [];
  let offset = 0;
  let centralBytes = 0;
  for (const { name, blob, crc } of entries) {
    const encoded = new TextEncoder().encode(name);
    // Version, flag for UTF-8, method, time, CRC, sizes and length of the name, which both records have.
    const common = [
      u16(20, 0x0800, 0),
      u32(dosTime(modified), crc, blob.size, blob.size),
      u16(encoded.byteLength),
    ];
    parts.push(u32(LOCAL.signature), ...common, u16(0), encoded, blob);
    central.push(
      u32(CENTRAL.signature),
      u16(20),
      ...common,
      u16(0, 0, 0, 0),
      u32(0, offset),
      encoded,
    );
    offset += LOCAL.bytes + encoded.byteLength + blob.size;
    centralBytes += CENTRAL.bytes + encoded.byteLength;
    if (offset + centralBytes > MAX_BYTES) throw new Error('A ZIP holds at most 4 GiB.');
  }
  const count = entries.length;
  if (count > MAX_ENTRIES) throw new Error(`A ZIP holds at most ${MAX_ENTRIES} files.`);
  const end = [u32(END.signature), u16(0, 0, count, count), u32(centralBytes, offset), u16(0)];
  return new Blob([...parts, ...central, ...end], { type: 'application/zip' });
}

/** Local time in the format of MS-DOS, which has two seconds of precision and begins in 1980. */
function dosTime(time: Date): number {
  const day = ((time.getFullYear() - 1980) << 9) | ((time.getMonth() + 1) << 5) | time.getDate();
  const clock = (time.getHours() << 11) | (time.getMinutes() << 5) | (time.getSeconds() >> 1);
  return ((day << 16) | clock) >>> 0;
}
