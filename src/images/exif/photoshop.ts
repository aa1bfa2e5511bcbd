/** Numbers of Photoshop's image resources: IPTC and its digest, and thumbnails. */
const IPTC = 0x0404;
export const IPTC_RESOURCES = [IPTC, 0x0425] as const;
export const THUMBNAIL_RESOURCES = [0x0409, 0x040c] as const;

/** The resources up to the end or to damage (Adobe Photoshop File Formats, "Image Resource Blocks"). */
function* resourcesOf(content: Buffer) {
  for (let start = 0; start + 12 <= content.length; ) {
    if (content.toString('latin1', start, start + 4) !== '8BIM') return;
    // The name and the data are padded to even lengths.
    const name = content[start + 6]! + 1;
    const length = start + 6 + name + (name % 2);
    if (length + 4 > content.length) return;
    const bytes = content.readUInt32BE(length);
    const end = length + 4 + bytes + (bytes % 2);
    if (end > content.length + 1) return;
    const data = content.subarray(length + 4, length + 4 + bytes);
    // Places of the resource in the content.
    yield { number: content.readUInt16BE(start + 4), start, end, data };
    start = end;
  }
}

/** Resources without some. What is damaged stays. */
export function withoutResources(content: Buffer, numbers: readonly number[]): Buffer {
  const parts: Buffer[] = [];
  let at = 0;
  for (const { number, start, end } of resourcesOf(content)) {
    if (!numbers.includes(number)) parts.push(content.subarray(start, end));
    at = end;
  }
  return Buffer.concat([...parts, content.subarray(at)]);
}

/** The records of IPTC in resources; null where there are none. */
export function iptcOf(content: Buffer): Buffer | null {
  for (const { number, data } of resourcesOf(content)) if (number === IPTC) return data;
  return null;
}

/** Records of IPTC as a resource. */
export function iptcResource(records: Buffer): Buffer {
  const head = Buffer.alloc(12);
  head.write('8BIM', 'latin1');
  head.writeUInt16BE(IPTC, 4);
  head.writeUInt32BE(records.length, 8);
  return Buffer.concat([head, records, Buffer.alloc(records.length % 2)]);
}
