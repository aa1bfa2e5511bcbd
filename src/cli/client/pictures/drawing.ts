import { previewOf } from './preview.ts';
import type { Protocol } from './protocol.ts';

/** The longest piece of a picture that one escape code of kitty may carry. */
const PIECE = 4096;

const END = '\u001b\\';

/** The escape codes at which a terminal draws a picture; null for a picture that cannot be read. */
export async function drawing(protocol: Protocol, picture: Uint8Array): Promise<string | null> {
  const preview = await previewOf(picture, protocol === 'sixel' ? 'rgba' : 'png');
  if (preview === null) return null;
  if ('rgba' in preview) {
    const { image2sixel } = (await import('sixel')).default;
    return image2sixel(preview.rgba, preview.width, preview.height);
  }
  const png = Buffer.from(preview.png);
  return protocol === 'kitty' ? kitty(png) : iterm(png);
}

/** https://sw.kovidgoyal.net/kitty/graphics-protocol/: transmit and show a PNG, and answer nothing. */
function kitty(png: Buffer): string {
  const pieces = png.toString('base64').match(new RegExp(`.{1,${PIECE}}`, 'g')) ?? [];
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
