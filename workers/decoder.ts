import { createRequire } from 'node:module';
import { workerData } from 'node:worker_threads';
import type { SharpFactory } from '../src/images/input.ts';
import type { Limits } from '../src/images/limits.ts';

/** Loaders that read from memory. By path libvips would parse options out of a file's name. */
const LOADERS = ['Jpeg', 'Png', 'Webp', 'Nsgif', 'Heif', 'Tiff'].map(
  (name) => `VipsForeignLoad${name}Buffer`,
);

/** How far the fence below is, for all threads of the process: a pool hands each the same memory. */
const fence = new Int32Array(
  (workerData as { readonly fence?: SharedArrayBuffer } | null)?.fence ?? new SharedArrayBuffer(4),
);
const FENCE = { open: 0, closing: 1, closed: 2 } as const;

/**
 * Blocks every loader but ours. The switches belong to the process, and between the two calls
 * nothing loads: a second thread that repeated them would make a healthy image of the first one
 * look damaged. So one does it, and the others wait for that moment.
 */
function closeFence(sharp: SharpFactory): void {
  const first = Atomics.compareExchange(fence, 0, FENCE.open, FENCE.closing) === FENCE.open;
  // A thread may be ended at any instant, even there; then another does it again.
  if (!first && Atomics.wait(fence, 0, FENCE.closing, 1000) !== 'timed-out') return;
  sharp.block({ operation: ['VipsForeignLoad'] });
  sharp.unblock({ operation: LOADERS });
  Atomics.store(fence, 0, FENCE.closed);
  Atomics.notify(fence, 0);
}

let loaded: SharpFactory | undefined;

function load(): SharpFactory {
  // As CommonJS, which takes half the time to load (27 against 50 ms): one small file would notice.
  const sharp = createRequire(import.meta.url)('sharp') as SharpFactory;
  // A file is the unit of parallel work, so more threads within one only add memory and switching.
  sharp.concurrency(1);
  sharp.cache(false);
  closeFence(sharp);
  return sharp;
}

let svgIsOpen = false;

/** sharp, fenced to the formats that Oriel reads. Loaded at its first use: hashing needs none. */
export function loadDecoder({ svg }: Limits): SharpFactory {
  loaded ??= load();
  if (svg !== svgIsOpen) {
    // Only at a change: the switch visits every operation that libvips knows.
    const operation = ['VipsForeignLoadSvgBuffer'];
    if (svg) loaded.unblock({ operation });
    else loaded.block({ operation });
    svgIsOpen = svg;
  }
  return loaded;
}
