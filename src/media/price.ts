import type { Model } from '../config/schema.ts';
import type { Work } from './work.ts';

/** The price of a work by a model of its type, in micro-credits. */
export function priceOf(work: Work, model: Model): number {
  if (work.type === 'image' && model.type === 'image') return model.price.perImage * work.n;
  if (work.type === 'video' && model.type === 'video') {
    return model.price.perVideo + model.price.perSecond * work.duration;
  }
  if (work.type === 'audio' && model.type === 'audio') return model.price.perRequest;
  throw new TypeError(`a model of type ${model.type} does no work of type ${work.type}`);
}

/**
 * What a work costs of which so many outputs were delivered, by the price at which it was reserved:
 * the configuration may have another price by now.
 *
 * @param reserved what `priceOf` gave when the task was made
 */
export function chargeOf(work: Work, reserved: number, outputs: number): number {
  return work.type === 'image' ? (reserved / work.n) * outputs : reserved;
}
