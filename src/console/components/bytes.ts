/** Numbers of two and of four bytes as files have them, little-endian like every machine that runs a browser. */
export const u16 = (...values: number[]) => Uint16Array.from(values);
export const u32 = (...values: number[]) => Uint32Array.from(values);

const CHECKSUMS = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit += 1) value = value & 1 ? 0xedb88320 ^ (value >>> 1) : value >>> 1;
  return value;
});

/** CRC-32 of ISO 3309, by which PNG and ZIP check bytes. */
export function crc32(bytes: Uint8Array): number {
  let value = 0xffffffff;
  for (const byte of bytes) value = CHECKSUMS[(value ^ byte) & 0xff]! ^ (value >>> 8);
  return (value ^ 0xffffffff) >>> 0;
}
