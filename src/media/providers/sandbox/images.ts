import { outputSize, type Size } from '../../../images/sizes.ts';
import type { ImageWork } from '../../work.ts';
import type { Order, Product, Production, Workshop } from '../provider.ts';
import { coloursOf, draw, fittedSize, measure, sizeFor } from './drawing.ts';
import { expectModel, GARBAGE, obey, usageOf } from './prompt.ts';

const USUAL: Size = { width: 1024, height: 1024 };

/**
 * Landscapes in PNG, or the first input with one laid over it. One after the other, so that others
 * get at the threads, too.
 */
export async function makeImages(
  { work, inputs, mask }: Order<ImageWork>,
  workshop: Workshop,
): Promise<Production> {
  expectModel(workshop, 'image');
  const { prompt, seed } = work;
  const { partial = work.n, size, garbage } = await obey(prompt, 'prompt', workshop.signal);
  const source = work.edit ? inputs[0] : undefined;
  const usual = source === undefined ? USUAL : sizeOfEdit(work, await measure(workshop, source));
  const { width, height } = sizeFor(size ?? work.size, usual);
  const colours = await coloursOf(workshop, source === undefined ? inputs : inputs.slice(1));
  const products: Product[] = [];
  for (let number = 0; number < Math.min(work.n, partial); number += 1) {
    const options = { prompt, seed, number, width, height, colours };
    const edit = source && { edit: { mask: mask?.bytes ?? null } };
    const bytes = garbage ? GARBAGE : await draw(workshop, { ...options, ...edit }, source);
    products.push({ bytes });
  }
  const tokens = Math.ceil((width * height) / 1024) * products.length;
  return { products, usage: usageOf(prompt, inputs.length, tokens) };
}

/** An edit is as large as what is edited. */
function sizeOfEdit({ native }: ImageWork, size: Size): Size {
  return native ? outputSize(size) : fittedSize(size);
}
