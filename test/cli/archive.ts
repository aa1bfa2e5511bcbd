/** One entry of a ZIP archive. */
export interface Entry {
  readonly name: string;
  /** 0 stored, 8 deflated. */
  readonly method: number;
  readonly bytes: Buffer;
}

const END_OF_DIRECTORY = 0x06054b50;
const DIRECTORY_ENTRY = 0x02014b50;
const LOCAL_ENTRY = 0x04034b50;
const UTF8 = 0x0800;

/**
 * Reads a ZIP by its central directory, as unpackers do. Stored entries only, none larger than 4 GB.
 * https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT, 4.3
 *
 * @throws Error where the archive is cut short or contradicts itself
 */
export function readArchive(archive: Buffer): Entry[] {
  const end = archive.length - 22;
  if (end < 0 || archive.readUInt32LE(end) !== END_OF_DIRECTORY) throw new Error('no end record');
  const count = archive.readUInt16LE(end + 10);
  const start = archive.readUInt32LE(end + 16);
  if (start + archive.readUInt32LE(end + 12) !== end) throw new Error('a gap before the end');
  const entries: Entry[] = [];
  let at = start;
  for (let index = 0; index < count; index += 1) {
    if (archive.readUInt32LE(at) !== DIRECTORY_ENTRY) throw new Error('no directory entry');
    const flags = archive.readUInt16LE(at + 8);
    const method = archive.readUInt16LE(at + 10);
    const stored = archive.readUInt32LE(at + 20);
    const nameLength = archive.readUInt16LE(at + 28);
    const extraLength = archive.readUInt16LE(at + 30);
    const commentLength = archive.readUInt16LE(at + 32);
    const local = archive.readUInt32LE(at + 42);
    const nameBytes = archive.subarray(at + 46, at + 46 + nameLength);
    // Without the flag, names are code page 437, which agrees with ASCII only.
    if (!(flags & UTF8) && nameBytes.some((byte) => byte > 0x7e)) throw new Error('not UTF-8');
    if (archive.readUInt32LE(local) !== LOCAL_ENTRY) throw new Error('no local entry');
    const data = local + 30 + archive.readUInt16LE(local + 26) + archive.readUInt16LE(local + 28);
    if (data + stored > start) throw new Error('an entry reaches into the directory');
    entries.push({
      name: nameBytes.toString('utf8'),
      method,
      bytes: archive.subarray(data, data + stored),
    });
    at += 46 + nameLength + extraLength + commentLength;
  }
  if (at !== end) throw new Error('the directory is longer than it says');
  return entries;
}
