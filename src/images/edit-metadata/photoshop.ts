/** Numbers of Photoshop's image resources: IPTC and its digest, and thumbnails. */
export const IPTC_RESOURCES = [0x0404, 0x0425] as const;
export const THUMBNAIL_RESOURCES = [0x0409, 0x040c] as const;

/** Resources without some (Adobe Photoshop File Formats, "Image Resource Blocks"). What is damaged stays. */
export function withoutResources(content: Buffer, numbers: readonly number[]): Buffer {
  const parts: Buffer[] = [];
  let at = 0;
  while (at + 12 <= content.length && content.toString('latin1', at, at + 4) === '8BIM') {
    // The name and the data are padded to even lengths.
    const name = content[at + 6]! + 1;
    const length = at + 6 + name + (name % 2);
    if (length + 4 > content.length) break;
    const bytes = content.readUInt32BE(length);
    const end = length + 4 + bytes + (bytes % 2);
    if (end > content.length + 1) break;
    if (!numbers.includes(content.readUInt16BE(at + 4))) parts.push(content.subarray(at, end));
    at = end;
  }
  return Buffer.concat([...parts, content.subarray(at)]);
}
