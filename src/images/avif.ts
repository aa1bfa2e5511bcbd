/** Reads the colour properties of the primary image; null if the bytes have no such boxes. */
export function readAvifColours(bytes: Uint8Array) {
  try {
    const { buffer, byteOffset, byteLength } = bytes;
    return coloursOf(primaryProperties(Buffer.from(buffer, byteOffset, byteLength)));
  } catch (error) {
    // A box ends before its fields do.
    if (error instanceof RangeError) return null;
    throw error;
  }
}

/** Boxes of ISO base media files (ISO/IEC 14496-12, 4.2) up to the first truncated one. */
export function* boxes(bytes: Buffer) {
  for (let at = 0; at + 8 <= bytes.length; ) {
    const size = bytes.readUInt32BE(at);
    const head = size === 1 ? 16 : 8;
    const length =
      size === 0 ? bytes.length - at : size === 1 ? Number(bytes.readBigUInt64BE(at + 8)) : size;
    if (length < head || at + length > bytes.length) return;
    const type = bytes.toString('latin1', at + 4, at + 8);
    yield { type, at, body: bytes.subarray(at + head, at + length) };
    at += length;
  }
}

export function box(type: string, ...parts: readonly Uint8Array[]): Buffer {
  const stored = Buffer.concat([Buffer.alloc(4), Buffer.from(type, 'latin1'), ...parts]);
  stored.writeUInt32BE(stored.length);
  return stored;
}

/** Whether a file ends within a box. */
export function isTruncatedAvif(bytes: Uint8Array): boolean {
  const { buffer, byteOffset, byteLength } = bytes;
  let end = byteOffset;
  for (const { body } of boxes(Buffer.from(buffer, byteOffset, byteLength)))
    end = body.byteOffset + body.length;
  return end + 8 <= byteOffset + byteLength;
}

function child(bytes: Buffer, name: string): Buffer {
  for (const { type, body } of boxes(bytes)) if (type === name) return body;
  return Buffer.alloc(0);
}

/** Bytes of version and flags, with which full boxes begin. */
export const FULL = 4;

/** The properties of the primary item (ISO/IEC 23008-12, 9.3). */
function primaryProperties(file: Buffer) {
  const meta = child(file, 'meta').subarray(FULL);
  const pitm = child(meta, 'pitm');
  if (pitm.length === 0) return [];
  const primary = pitm[0] === 0 ? pitm.readUInt16BE(FULL) : pitm.readUInt32BE(FULL);
  const iprp = child(meta, 'iprp');
  const all = [...boxes(child(iprp, 'ipco'))];
  const associations = child(iprp, 'ipma');
  if (associations.length === 0) return [];
  const long = associations[0]! > 0;
  const wide = (associations[3]! & 1) === 1;
  let at = FULL + 4;
  for (let left = associations.readUInt32BE(FULL); left > 0; left -= 1) {
    const item = long ? associations.readUInt32BE(at) : associations.readUInt16BE(at);
    at += long ? 4 : 2;
    const count = associations.readUInt8(at);
    at += 1;
    if (item === primary) {
      const indices = Array.from({ length: count }, (_, index) =>
        wide
          ? associations.readUInt16BE(at + index * 2) & 0x7fff
          : associations.readUInt8(at + index) & 0x7f,
      );
      // Indexes begin at 1; 0 is none.
      return indices.flatMap((index) => all[index - 1] ?? []);
    }
    at += wide ? count * 2 : count;
  }
  return [];
}

/** The flag of av1C in its third byte (AV1 in ISOBMFF, 2.3.3). */
const MONOCHROME = 0x10;

function coloursOf(properties: ReturnType<typeof primaryProperties>) {
  if (properties.length === 0) return null;
  const named = (type: string) => properties.find((box) => box.type === type)?.body;
  const nclx = properties.find(
    ({ type, body }) => type === 'colr' && body.toString('latin1', 0, 4) === 'nclx',
  )?.body;
  // Only the tiles of a grid have a configuration.
  const channels = named('pixi')?.[FULL];
  const configured = ((named('av1C')?.[2] ?? 0) & MONOCHROME) !== 0;
  return {
    monochrome: channels === undefined ? configured : channels === 1,
    /** The box colr of type nclx (ITU-T H.273); null if there is none. */
    coded: nclx
      ? {
          primaries: nclx.readUInt16BE(4),
          transfer: nclx.readUInt16BE(6),
          fullRange: (nclx.readUInt8(10) & 0x80) !== 0,
        }
      : null,
  };
}
