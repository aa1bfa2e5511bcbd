import { readPng } from './png.ts';
import type { Protocol } from './protocol.ts';

/** The longest piece of a picture that one escape code of kitty may carry. */
const PIECE = 4096;

const END = '\u001b\\';

/** What a terminal draws a PNG at, of eight bits a channel. */
export async function drawing(protocol: Protocol, png: Buffer): Promise<string> {
  switch (protocol) {
    case 'kitty':
      return kitty(png);
    case 'iterm':
      return iterm(png);
    case 'sixel': {
      const { image2sixel } = (await import('sixel')).default;
      const { width, height, rgba } = readPng(png);
      return image2sixel(onWhite(rgba), width, height);
    }
  }
}

/** The library's encoder knows no transparency. In place. */
function onWhite(rgba: Uint8Array): Uint8Array {
  for (let at = 0; at < rgba.length; at += 4) {
    const alpha = rgba[at + 3]!;
    if (alpha === 255) continue;
    for (let channel = at; channel < at + 3; channel += 1) {
      rgba[channel] = 255 - Math.round(((255 - rgba[channel]!) * alpha) / 255);
    }
    rgba[at + 3] = 255;
  }
  return rgba;
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
