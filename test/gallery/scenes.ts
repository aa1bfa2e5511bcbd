import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import sharp, { type Sharp } from 'sharp';
import { ultraHdr } from '../fixtures/gain-map.ts';
import { randomNumbers } from '../fixtures/images.ts';
import { absent, encoded, pdf, raw } from '../fixtures/program-images.ts';

/** Colours of a landscape, from the sky's top down to the water. */
interface Light {
  readonly seed: number;
  readonly sky: readonly [top: string, horizon: string];
  readonly sun: string;
  readonly hills: readonly [far: string, middle: string, near: string];
  readonly water: string;
}

const LIGHTS = {
  lake: {
    seed: 1,
    sky: ['#2f6fb5', '#f5d9a8'],
    sun: '#fff3d0',
    hills: ['#7d93a8', '#4d6f6b', '#24413a'],
    water: '#4f86a8',
  },
  dunes: {
    seed: 2,
    sky: ['#d9734a', '#fbe3b0'],
    sun: '#ffe9b8',
    hills: ['#d69a5c', '#b8743c', '#7c4524'],
    water: '#c98f55',
  },
  night: {
    seed: 3,
    sky: ['#0a1230', '#3b3a6e'],
    sun: '#e8ecff',
    hills: ['#262b52', '#1a1e3d', '#0c0f22'],
    water: '#1b2450',
  },
} as const satisfies Record<string, Light>;

type Scene = keyof typeof LIGHTS;

const WIDTH = 960;
const HEIGHT = 640;

/** A ridge of hills as a path that is closed at the bottom. */
function ridge(height: number, rise: number, random: (below: number) => number): string {
  const points = Array.from({ length: 9 }, (_, index) => {
    return `${(index * WIDTH) / 8},${height - random(rise)}`;
  });
  return `M0,${HEIGHT} L${points.join(' L')} L${WIDTH},${HEIGHT} Z`;
}

/** A landscape with a sun, three ridges, water and grain; the same scene has the same pixels. */
async function landscape(scene: Scene): Promise<Sharp> {
  const { seed, sky, sun, hills, water } = LIGHTS[scene];
  const random = randomNumbers(seed * 7919);
  const shapes = hills.map((colour, index) => {
    const path = ridge(360 + index * 70, 150 - index * 20, random);
    return `<path d="${path}" fill="${colour}"/>`;
  });
  const x = 250 + random(460);
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${HEIGHT}">
    <linearGradient id="sky" x2="0" y2="1"><stop stop-color="${sky[0]}"/><stop offset=".7" stop-color="${sky[1]}"/></linearGradient>
    <rect width="${WIDTH}" height="${HEIGHT}" fill="url(#sky)"/>
    <circle cx="${x}" cy="170" r="58" fill="${sun}"/>${shapes.join('')}
    <rect y="540" width="${WIDTH}" height="100" fill="${water}"/>
    <rect x="${x - 40}" y="556" width="80" height="6" fill="${sun}" opacity=".6"/>
    <rect x="${x - 22}" y="584" width="44" height="6" fill="${sun}" opacity=".5"/>
  </svg>`;
  const pixels = await sharp(Buffer.from(svg)).removeAlpha().raw().toBuffer();
  for (let index = 0; index < pixels.length; index += 1) {
    pixels[index] = Math.max(0, Math.min(255, pixels[index]! + random(11) - 5));
  }
  return sharp(pixels, { raw: { width: WIDTH, height: HEIGHT, channels: 3 } });
}

const GPS = {
  IFD0: { Make: 'Oriel', Copyright: 'CC0' },
  IFD3: {
    GPSLatitudeRef: 'N',
    GPSLatitude: '47/1 34/1 0/1',
    GPSLongitudeRef: 'E',
    GPSLongitude: '8/1 50/1 0/1',
  },
};

const LOGO = `<svg xmlns="http://www.w3.org/2000/svg" width="512" height="512">
  <rect width="512" height="512" rx="96" fill="#2f6fb5"/>
  <path d="M96,400 L220,190 L300,310 L350,240 L430,400 Z" fill="#fff"/>
  <circle cx="360" cy="140" r="48" fill="#ffd166"/></svg>`;

const HEART = `<svg xmlns="http://www.w3.org/2000/svg" width="480" height="320"><rect width="480" height="320"/>
  <path d="M240,300 C20,150 110,10 240,90 C370,10 460,150 240,300 Z" fill="#fff"/></svg>`;

/** A drawn person, smooth as photographs are. */
const PERSON = `<svg xmlns="http://www.w3.org/2000/svg" width="240" height="420">
  <path d="M0,420 Q10,250 120,240 Q230,250 240,420 Z" fill="#44567a"/>
  <g transform="translate(40 20) scale(1.6)"><ellipse cx="50" cy="55" rx="42" ry="55" fill="#d8b8a0"/>
  <path d="M6,40 Q50,-20 94,40 Q80,10 50,12 Q20,10 6,40 Z" fill="#332211"/>
  <path d="M20,32 h22 v5 h-22 Z M58,32 h22 v5 h-22 Z" fill="#443322"/>
  <ellipse cx="31" cy="45" rx="10" ry="6" fill="#504038"/><ellipse cx="69" cy="45" rx="10" ry="6" fill="#504038"/>
  <path d="M46,45 L42,66 L58,66 L54,45 Z" fill="#e8ccb8"/><path d="M42,66 h16 v3 h-16 Z" fill="#906858"/>
  <ellipse cx="50" cy="82" rx="17" ry="6" fill="#8a4a44"/></g></svg>`;

/** A page of a report: a title, lines and a chart. */
const PAGE = [
  '0.18 0.44 0.71 rg 40 340 220 16 re f',
  ...[310, 296, 282, 268].map((y) => `0.6 g 40 ${y} 220 6 re f`),
  ...[60, 110, 90, 160].map(
    (height, index) => `1 0.82 0.4 rg ${50 + index * 52} 60 36 ${height} re f`,
  ),
].join('\n');

/** White specks, as dust leaves on a scan. */
async function dusty(image: Sharp): Promise<Sharp> {
  const { data, info } = await image.resize(320).raw().toBuffer({ resolveWithObject: true });
  const random = randomNumbers(7);
  for (let speck = 0; speck < 250; speck += 1) {
    const at = (random(info.height) * info.width + random(info.width)) * 3;
    data.fill(255, at, at + 6);
  }
  return sharp(data, { raw: { ...info, channels: 3 } }).png();
}

/** An SVG with what editors add to it. */
function asEdited(svg: string): string {
  const comment = '<!-- Generator: an editor, SVG export plug-in. Version 6.00 Build 0 -->';
  const metadata =
    '<metadata>Untitled, saved as optimised by the editor of the examples</metadata>';
  return `<?xml version="1.0" encoding="utf-8"?>\n${comment}\n${svg.replace('>', `>\n  ${metadata}\n`)}`;
}

/** Writes the inputs of the gallery's commands. */
export async function writeScenes(folder: string): Promise<void> {
  const writeBytes = (name: string, bytes: Uint8Array): void => {
    const path = join(folder, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, bytes);
  };
  const write = async (name: string, image: Sharp) => writeBytes(name, await image.toBuffer());
  const photograph = (image: Sharp) => image.withExif(GPS).jpeg({ quality: 90 });
  const lake = await landscape('lake');
  await write('photos/lake.jpg', photograph(lake.clone()));
  const [dunes, night] = [await landscape('dunes'), await landscape('night')];
  await write('photos/dunes.jpg', photograph(dunes.clone()));
  await write('photos/night.jpg', photograph(night.clone()));
  await write('photos/sent/lake-small.jpg', lake.clone().resize(640).jpeg({ quality: 70 }));
  await write('hazy/lake.jpg', lake.clone().linear(0.35, 110).jpeg());
  await write('film/dunes.jpg', dunes.clone().negate().jpeg());
  await write('scans/night.png', await dusty(night));
  const person = await sharp(Buffer.from(PERSON)).blur(2).png().toBuffer();
  await write('people/hill.jpg', lake.composite([{ input: person, left: 640, top: 200 }]).jpeg());
  const quarter = await night.clone().rotate(270).jpeg().toBuffer();
  writeBytes('camera/night.dng', raw(quarter));
  const heic = absent('heif-enc') ?? encoded(folder, await lake.jpeg().toBuffer(), 'heif-enc');
  writeBytes('phone/lake.heic', Buffer.from(heic));
  writeBytes('phone/hdr.jpg', await ultraHdr({ width: 960, height: 640 }));
  writeBytes('documents/report.pdf', pdf(300, 400, PAGE));
  await write('heart.png', sharp(Buffer.from(HEART)).png());
  writeBytes('icons-of-an-editor/logo.svg', Buffer.from(asEdited(LOGO)));
  await write('logo.png', sharp(Buffer.from(LOGO)).png());
}
