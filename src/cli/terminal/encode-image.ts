import { DEFAULT_LIMITS } from '../../images/limits.ts';
import { inlinePool } from '../../operations/pool/pool.ts';
import type { Preview } from '../../operations/tools/preview.ts';

/** Protocol of images in a terminal. */
export type Protocol = 'kitty' | 'iterm' | 'sixel';

/** Maximum characters of base64 in one escape code of kitty. */
const MAX_CHUNK = 4096;

const END = '\u001b\\';

/** The escape codes that show an image in a terminal; null for an image that cannot be read. */
export async function encodeForTerminal(
  protocol: Protocol,
  image: Uint8Array,
): Promise<string | null> {
  const preview = await previewOf(image, protocol === 'sixel' ? 'rgba' : 'png');
  if (preview === null) return null;
  if ('rgba' in preview) {
    const { image2sixel } = (await import('sixel')).default;
    return image2sixel(preview.rgba, preview.width, preview.height);
  }
  const png = Buffer.from(preview.png);
  return protocol === 'kitty' ? kitty(png) : iterm(png);
}

/** https://sw.kovidgoyal.net/kitty/graphics-protocol/: transmit and show a PNG, without a reply. */
function kitty(png: Buffer): string {
  const pieces = png.toString('base64').match(new RegExp(`.{1,${MAX_CHUNK}}`, 'g')) ?? [];
  return pieces
    .map((piece, index) => {
      const more = index < pieces.length - 1 ? 1 : 0;
      return `\u001b_G${index === 0 ? 'a=T,f=100,q=2,' : ''}m=${more};${piece}${END}`;
    })
    .join('');
}

/** https://iterm2.com/documentation-images.html */
function iterm(png: Buffer): string {
  return `\u001b]1337;File=inline=1;size=${png.length}:${png.toString('base64')}\u0007`;
}

/** Pixels of the longer side, about the width of a terminal. */
const MAX_SIDE = 800;

/** Shrinks an image for a terminal; null where it cannot be read. */
export async function previewOf(image: Uint8Array, as: 'png' | 'rgba'): Promise<Preview | null> {
  const pool = await inlinePool(1);
  const result = await pool.run({
    operation: 'preview',
    options: { as, side: MAX_SIDE },
    source: { bytes: image },
    limits: DEFAULT_LIMITS,
  });
  return result.ok ? (result.data as Preview) : null;
}
