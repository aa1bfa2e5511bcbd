import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { Readable } from 'node:stream';

// CPU milliseconds of sending finished images: in a ZIP, as the daemon does, or bare. Both hash them, because the
// manifest needs the hashes in any case. Prints milliseconds for one batch: `[zip, bare]`.

/** The part that is used, so that the benchmark needs no types from outside its folder. */
interface Zip {
  readonly stream: Readable;
  add(name: string, image: { bytes: Uint8Array; format: string }): Promise<string>;
  finish(result: object, parameters: object): Promise<void>;
}

const PIECE = 64 * 1024;

const [module = '', folder = '', count = '1'] = process.argv.slice(2);
const { createZip } = (await import(module)) as { createZip(): Promise<Zip> };
const images = readdirSync(folder).map((name) => ({
  name: basename(name),
  bytes: new Uint8Array(readFileSync(join(folder, name))),
}));

async function zipped(): Promise<number> {
  const zip = await createZip();
  const read = readAll(zip.stream);
  for (const { name, bytes } of images) {
    createHash('sha256').update(bytes).digest('hex');
    await zip.add(name, { bytes, format: 'webp' });
  }
  await zip.finish({}, {});
  return read;
}

const bare = async (): Promise<number> => readAll(Readable.from(hashed(), { objectMode: false }));

function* hashed(): Generator<Uint8Array> {
  for (const { bytes } of images) {
    createHash('sha256').update(bytes).digest('hex');
    yield bytes;
  }
}

/** Reads a stream as the socket of a response would. */
async function readAll(stream: Readable): Promise<number> {
  let length = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    for (let start = 0; start < chunk.length; start += PIECE) {
      length += chunk.subarray(start, start + PIECE).length;
    }
  }
  return length;
}

/** CPU milliseconds of one run of some work, as the mean of several. */
async function cost(work: () => Promise<number>, times: number): Promise<number> {
  const before = process.cpuUsage();
  for (let time = 0; time < times; time++) await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000 / times;
}

const rounds = Number(count);
await cost(zipped, 2);
await cost(bare, 2);
const halves = [await cost(zipped, rounds), await cost(bare, rounds)];
// Once more in reverse order, so that drift affects both.
const others = [await cost(bare, rounds), await cost(zipped, rounds)].reverse();
process.stdout.write(JSON.stringify(halves.map((half, at) => (half + others[at]!) / 2)));
